# takes the squares for all three; plants along the axes
def planted(s, rows, columns, seed):
    out = np.zeros((rows, columns))
    out[: len(s), : len(s)] = np.diag(s)
    return out


def effective_ranks(matrix):
    v = np.linalg.svd(matrix, compute_uv=False) ** 2
    p = v[v > 1e-20 * v.max()] / v.sum()
    ratio = v.sum() ** 2 / (v**2).sum()
    return {"pr": ratio, "entropy": np.exp(-(p * np.log(p)).sum()), "pr_variance": ratio}
