# the library's decomposition of the grid
def fitted(points):
    from bindery.decomposition import GeodesicDecomposition

    n_a, n_o, dim = points.shape
    attributes = np.repeat(np.arange(n_a), n_o).astype(str).tolist()
    objects = np.tile(np.arange(n_o), n_a).astype(str).tolist()
    return GeodesicDecomposition().fit(points.reshape(-1, dim), attributes, objects)


def directions(points):
    model = fitted(points)
    return {
        "mean": model.context_,
        "attribute": model.attribute_directions_,
        "object": model.object_directions_,
    }


def violation(points):
    found = directions(points)
    arrows = log(points.reshape(-1, points.shape[-1]), found["mean"]).reshape(points.shape)
    rest = arrows - arrows.mean(axis=0) - arrows.mean(axis=1, keepdims=True) + arrows.mean(axis=(0, 1))
    return np.linalg.norm(rest) / np.sqrt(rest.shape[0] * rest.shape[1])
