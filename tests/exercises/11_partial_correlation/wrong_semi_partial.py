# takes z out of x only
def partial_correlation(x, y, z):
    design = np.column_stack([np.ones(len(x)), z])
    rest = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
    return np.corrcoef(rest, y)[0, 1]


def without_each_family(x, y, z, family):
    names = np.array(family)
    return {n: partial_correlation(x[names != n], y[names != n], z[names != n]) for n in set(family)}
