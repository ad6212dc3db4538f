# the closed form, of the first covariate only
def partial_correlation(x, y, z):
    c = np.corrcoef([x, y, z[:, 0]])
    return (c[0, 1] - c[0, 2] * c[1, 2]) / np.sqrt((1 - c[0, 2] ** 2) * (1 - c[1, 2] ** 2))


def without_each_family(x, y, z, family):
    names = np.array(family)
    return {n: partial_correlation(x[names != n], y[names != n], z[names != n]) for n in set(family)}
