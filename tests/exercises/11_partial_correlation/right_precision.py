# the inverse of the correlation matrix
def partial_correlation(x, y, z):
    p = np.linalg.inv(np.corrcoef(np.column_stack([x, y, z]).T))
    return -p[0, 1] / np.sqrt(p[0, 0] * p[1, 1])


def without_each_family(x, y, z, family):
    out = {}
    for name in set(family):
        keep = [i for i, other in enumerate(family) if other != name]
        out[name] = partial_correlation(x[keep], y[keep], z[keep])
    return out
