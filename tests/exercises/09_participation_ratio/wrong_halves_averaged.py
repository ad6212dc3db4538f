# averages the plug-in values of two halves: twice the bias
def participation_ratio(x):
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return values.sum() ** 2 / (values**2).sum()


def expected_isotropic(n, d):
    return n * d / (n + d)


def corrected(x):
    return (participation_ratio(x[::2]) + participation_ratio(x[1::2])) / 2
