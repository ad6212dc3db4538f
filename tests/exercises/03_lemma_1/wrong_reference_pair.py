# one row as reference instead of the mean over the slice
def directions(points):
    rows = points.reshape(-1, points.shape[-1])
    mean = frechet_mean(rows).point
    arrows = log(rows, mean).reshape(points.shape)
    return {"mean": mean, "attribute": arrows[:, 0], "object": arrows[0] - arrows[0, 0]}


def violation(points):
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    return np.sqrt(((arrows - found["attribute"][:, None] - found["object"]) ** 2).sum(-1).mean())
