# singular values instead of variances
def participation_ratio(x):
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    return s.sum() ** 2 / (s**2).sum()


def expected_isotropic(n, d):
    return min(n - 1, d)


def corrected(x):
    n, d = x.shape
    return participation_ratio(x) * (n + d) / n
