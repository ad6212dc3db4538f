# the first k instead of the largest k
def rank_at(s, k):
    return s[:k].sum() ** 2 / (s[:k] ** 2).sum()


def directions_needed(s, share):
    values = np.cumsum(s) ** 2 / np.cumsum(s**2)
    return int(np.argmax(values >= share * values[-1])) + 1


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    v = np.linalg.svd(jacobian @ g, compute_uv=False) ** 2
    q = v.sum() ** 2 / (v**2).sum()
    return (q * (k + 1) - 2) / (k - q)
