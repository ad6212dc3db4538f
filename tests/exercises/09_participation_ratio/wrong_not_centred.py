# second moments instead of the covariance; nothing is corrected
def participation_ratio(x):
    gram = x.T @ x
    return np.trace(gram) ** 2 / (gram**2).sum()


def expected_isotropic(n, d):
    return n * d / (n + d)


def corrected(x):
    return participation_ratio(x)
