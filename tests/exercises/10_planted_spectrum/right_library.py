# the library's formulas; orthonormal columns from a singular value decomposition
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    k = len(s)
    u = np.linalg.svd(rng.standard_normal((rows, k)), full_matrices=False)[0]
    v = np.linalg.svd(rng.standard_normal((columns, k)), full_matrices=False)[0]
    turn = np.linalg.qr(rng.standard_normal((k, k)))[0]
    return u @ np.diag(s) @ turn @ v.T


def effective_ranks(matrix):
    from bindery.jacobian import effective_rank

    s = np.linalg.svd(matrix, compute_uv=False)
    return {kind: effective_rank(s, kind) for kind in ("pr", "entropy", "pr_variance")}
