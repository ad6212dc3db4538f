# the library's measure, times D; the exact moments of a Wishart matrix
def participation_ratio(x):
    from bindery.geometry import participation_ratio as share

    return share(x) * x.shape[1]


def expected_isotropic(n, d):
    m = n - 1
    return (m * d + 2) / (m + d + 1)


def corrected(x):
    from bindery.geometry import participation_ratio as share

    return share(x, correction="finite-sample") * x.shape[1]
