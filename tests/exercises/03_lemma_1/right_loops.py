# loops over the slices
def directions(points):
    mean = frechet_mean(points.reshape(-1, points.shape[2])).point
    attribute = np.array([log(points[a], mean).mean(axis=0) for a in range(points.shape[0])])
    objects = np.array([log(points[:, o], mean).mean(axis=0) for o in range(points.shape[1])])
    return {"mean": mean, "attribute": attribute, "object": objects}


def violation(points):
    found, missed = directions(points), []
    for a, row in enumerate(points):
        for o, point in enumerate(row):
            missed.append(
                np.linalg.norm(log(point, found["mean"]) - found["attribute"][a] - found["object"][o])
            )
    return np.sqrt(np.mean(np.square(missed)))
