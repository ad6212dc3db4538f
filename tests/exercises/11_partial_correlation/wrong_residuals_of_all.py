# fits once on all encoders, then drops rows of the residuals
def residuals(x, y, z):
    design = np.column_stack([np.ones(len(x)), z])
    return [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y)]


def partial_correlation(x, y, z):
    return np.corrcoef(*residuals(x, y, z))[0, 1]


def without_each_family(x, y, z, family):
    a, b = residuals(x, y, z)
    names = np.array(family)
    return {n: np.corrcoef(a[names != n], b[names != n])[0, 1] for n in set(family)}
