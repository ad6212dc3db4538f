# the weights do not sum to one: the step overshoots
def intrinsic_mean(points, weights):
    mean = weights @ points / weights.sum()
    mean = mean / np.linalg.norm(mean)
    for _ in range(60):
        step = weights @ log(points, mean)
        if np.linalg.norm(step) < 1e-12:
            break
        mean = exp(step - (step @ mean) * mean, mean)
        mean = mean / np.linalg.norm(mean)
    return mean


def certificate(points, weights, mean):
    return np.linalg.norm(weights @ log(points, mean)), distance(points, mean).max()
