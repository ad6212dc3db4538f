# a share of D instead of a number of directions
def participation_ratio(x):
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return values.sum() ** 2 / (values**2).sum() / x.shape[1]


def expected_isotropic(n, d):
    return n / (n + d)


def corrected(x):
    first, second = np.cov(x[::2], rowvar=False), np.cov(x[1::2], rowvar=False)
    return np.trace(first) * np.trace(second) / np.trace(first @ second) / x.shape[1]
