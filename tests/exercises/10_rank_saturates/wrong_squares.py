# squares where the formula has none, and none where it has
def rank_at(s, k):
    top = np.sort(s)[::-1][:k] ** 2
    return top.sum() ** 2 / (top**2).sum()


def directions_needed(s, share):
    return next(k for k in range(1, len(s) + 1) if rank_at(s, k) >= share * rank_at(s, len(s)))


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    s = np.linalg.svd(jacobian @ g, compute_uv=False)
    q = s.sum() ** 2 / (s**2).sum()
    return (q * (k + 1) - 2) / (k - q)
