# the mean over coordinates as well, so that D enters
def directions(points):
    rows = points.reshape(-1, points.shape[-1])
    mean = frechet_mean(rows).point
    arrows = log(rows, mean).reshape(points.shape)
    return {"mean": mean, "attribute": arrows.mean(axis=1), "object": arrows.mean(axis=0)}


def violation(points):
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    return np.sqrt(((arrows - found["attribute"][:, None] - found["object"]) ** 2).mean())
