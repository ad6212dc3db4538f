# works at the scaled arithmetic mean, where the arrows do not cancel
def directions(points):
    rows = points.reshape(-1, points.shape[-1])
    mean = rows.mean(axis=0)
    mean = mean / np.linalg.norm(mean)
    arrows = log(rows, mean).reshape(points.shape)
    return {"mean": mean, "attribute": arrows.mean(axis=1), "object": arrows.mean(axis=0)}


def violation(points):
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    return np.sqrt(((arrows - found["attribute"][:, None] - found["object"]) ** 2).sum(-1).mean())
