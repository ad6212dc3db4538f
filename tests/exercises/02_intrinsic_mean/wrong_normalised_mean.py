# the arithmetic mean scaled to length one: minimises chords, not angles
def intrinsic_mean(points, weights):
    mean = weights @ points
    return mean / np.linalg.norm(mean)


def certificate(points, weights, mean):
    weights = weights / weights.sum()
    return np.linalg.norm(weights @ log(points, mean)), distance(points[weights > 0], mean).max()
