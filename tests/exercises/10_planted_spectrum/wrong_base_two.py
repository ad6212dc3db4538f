# entropy in bits, raised to e
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    u, v = (
        np.linalg.qr(rng.standard_normal((rows, len(s))))[0],
        np.linalg.qr(rng.standard_normal((columns, len(s))))[0],
    )
    return (u * s) @ v.T


def effective_ranks(matrix):
    s = np.linalg.svd(matrix, compute_uv=False)
    p = s[s > 1e-12] / s.sum()
    return {
        "pr": s.sum() ** 2 / (s**2).sum(),
        "entropy": np.exp(-(p * np.log2(p)).sum()),
        "pr_variance": (s**2).sum() ** 2 / (s**4).sum(),
    }
