# eigenvalues of the smaller Gram matrix; scipy's entropy
def planted(s, rows, columns, seed):
    rng = np.random.default_rng(seed)
    middle = np.zeros((rows, columns))
    signed = s * np.where(rng.random(len(s)) < 0.5, -1, 1)
    np.fill_diagonal(middle, np.r_[signed, np.zeros(min(rows, columns) - len(s))])
    left = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    return left @ middle @ np.linalg.qr(rng.standard_normal((columns, columns)))[0].T


def effective_ranks(matrix):
    from scipy.stats import entropy

    gram = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    v = np.linalg.eigvalsh(gram)
    v = np.where(v > 1e-12 * v.max(), v, 0)
    s = np.sqrt(v)
    return {
        "pr": s.sum() ** 2 / v.sum(),
        "entropy": np.exp(entropy(s)),
        "pr_variance": v.sum() ** 2 / (v @ v),
    }
