# the certificate recomputes its own mean instead of judging the one it was given
def intrinsic_mean(points, weights):
    from bindery.sphere import frechet_mean

    return frechet_mean(points, weights).point


def certificate(points, weights, mean):
    mean = intrinsic_mean(points, weights)
    weights = weights / weights.sum()
    return np.linalg.norm(weights @ log(points, mean)), distance(points[weights > 0], mean).max()
