# the library's mean
def intrinsic_mean(points, weights):
    from bindery.sphere import frechet_mean

    return frechet_mean(points, weights).point


def certificate(points, weights, mean):
    arrows = log(points[weights > 0], mean)
    share = weights[weights > 0] / weights.sum()
    return np.linalg.norm(share @ arrows), np.linalg.norm(arrows, axis=1).max()
