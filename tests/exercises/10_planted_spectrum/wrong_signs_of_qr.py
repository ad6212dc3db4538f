# the Q of a QR decomposition has its signs fixed by a convention
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((rows, len(s))))
    v, _ = np.linalg.qr(rng.standard_normal((columns, len(s))))
    return (u * s) @ v.T


def effective_ranks(matrix):
    s = np.linalg.svd(matrix, compute_uv=False)
    p = s[s > 1e-12 * s.max()] / s.sum()
    return {
        "pr": float(s.sum() ** 2 / (s**2).sum()),
        "entropy": float(np.exp(-(p * np.log(p)).sum())),
        "pr_variance": float((s**2).sum() ** 2 / (s**4).sum()),
    }
