# an orthonormal basis of the covariates, projected away
def partial_correlation(x, y, z):
    basis = np.linalg.qr(np.column_stack([np.ones(len(x)), z]))[0]
    a, b = x - basis @ (basis.T @ x), y - basis @ (basis.T @ y)
    return a @ b / np.sqrt((a @ a) * (b @ b))


def without_each_family(x, y, z, family):
    names = np.asarray(family)
    left = [(name, names != name) for name in dict.fromkeys(family)]
    return {name: partial_correlation(x[keep], y[keep], z[keep, :]) for name, keep in left}
