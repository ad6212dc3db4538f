# linear decomposition: differences of points instead of arrows
def directions(points):
    mean = points.mean(axis=(0, 1))
    return {"mean": mean, "attribute": points.mean(axis=1) - mean, "object": points.mean(axis=0) - mean}


def violation(points):
    found = directions(points)
    rest = points - found["mean"] - found["attribute"][:, None] - found["object"]
    return np.sqrt((rest**2).sum(-1).mean())
