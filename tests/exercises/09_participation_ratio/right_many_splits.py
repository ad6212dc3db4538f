# averages both traces over many splits
def participation_ratio(x):
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    return (s**2).sum() ** 2 / (s**4).sum()


def expected_isotropic(n, d):
    return 1 / (1 / n + 1 / d)


def corrected(x):
    rng, top, bottom = np.random.default_rng(0), 0.0, 0.0
    for _ in range(6):
        order = rng.permutation(len(x))
        first, second = np.cov(x[order[::2]].T), np.cov(x[order[1::2]].T)
        top += np.trace(first) * np.trace(second)
        bottom += np.trace(first @ second)
    return top / bottom
