# multiplies by the number of columns over k; share of k instead of the full value
def rank_at(s, k):
    top = np.sort(s)[::-1][:k]
    return top.sum() ** 2 / (top**2).sum()


def directions_needed(s, share):
    return next(k for k in range(1, len(s) + 1) if rank_at(s, k) <= share * k or k == len(s))


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    v = np.linalg.svd(jacobian @ g, compute_uv=False) ** 2
    return v.sum() ** 2 / (v**2).sum() * jacobian.shape[1] / k
