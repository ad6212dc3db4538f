# keeps the family instead of leaving it out
def partial_correlation(x, y, z):
    design = np.column_stack([np.ones(len(x)), z])
    rest = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y)]
    return np.corrcoef(*rest)[0, 1]


def without_each_family(x, y, z, family):
    names = np.array(family)
    return {n: partial_correlation(x[names == n], y[names == n], z[names == n]) for n in set(family)}
