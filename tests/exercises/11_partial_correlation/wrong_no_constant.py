# fits through the origin
def partial_correlation(x, y, z):
    rest = [v - z @ np.linalg.lstsq(z, v, rcond=None)[0] for v in (x, y)]
    return np.corrcoef(*rest)[0, 1]


def without_each_family(x, y, z, family):
    names = np.array(family)
    return {n: partial_correlation(x[names != n], y[names != n], z[names != n]) for n in set(family)}
