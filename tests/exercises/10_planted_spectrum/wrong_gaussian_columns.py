# scales the columns of a Gaussian matrix, which are not orthonormal
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    scale = np.zeros(columns)
    scale[: len(s)] = s
    return rng.standard_normal((rows, columns)) / np.sqrt(rows) * scale


def effective_ranks(matrix):
    s = np.linalg.svd(matrix, compute_uv=False)
    p = s[s > 1e-12] / s.sum()
    return {
        "pr": s.sum() ** 2 / (s**2).sum(),
        "entropy": np.exp(-(p * np.log(p)).sum()),
        "pr_variance": (s**2).sum() ** 2 / (s**4).sum(),
    }
