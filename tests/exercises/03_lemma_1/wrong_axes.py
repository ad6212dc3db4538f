# averages along the wrong axes
def directions(points):
    rows = points.reshape(-1, points.shape[-1])
    mean = frechet_mean(rows).point
    arrows = log(rows, mean).reshape(points.shape)
    return {"mean": mean, "attribute": arrows.mean(axis=0), "object": arrows.mean(axis=1)}


def violation(points):
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    return np.sqrt(((arrows - found["object"][:, None] - found["attribute"]) ** 2).sum(-1).mean())
