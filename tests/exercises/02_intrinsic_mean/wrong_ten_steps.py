# ten full steps, done or not
def intrinsic_mean(points, weights):
    weights = weights / weights.sum()
    mean = weights @ points
    mean = mean / np.linalg.norm(mean)
    for _ in range(10):
        step = weights @ log(points, mean)
        mean = exp(step - (step @ mean) * mean, mean)
        mean = mean / np.linalg.norm(mean)
    return mean


def certificate(points, weights, mean):
    weights = weights / weights.sum()
    return np.linalg.norm(weights @ log(points, mean)), distance(points[weights > 0], mean).max()
