# zero times the logarithm of zero
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    full = np.zeros((rows, columns))
    full[: len(s), : len(s)] = np.diag(s)
    u, v = (
        np.linalg.qr(rng.standard_normal((rows, rows)))[0],
        np.linalg.qr(rng.standard_normal((columns, columns)))[0],
    )
    return u @ full @ v


def effective_ranks(matrix):
    s = np.linalg.svd(matrix, compute_uv=False)
    s = np.where(s < 1e-10 * s.max(), 0, s)
    p = s / s.sum()
    return {
        "pr": s.sum() ** 2 / (s**2).sum(),
        "entropy": np.exp(-np.sum(p * np.log(p))),
        "pr_variance": (s**2).sum() ** 2 / (s**4).sum(),
    }
