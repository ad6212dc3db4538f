# the first k columns instead of random directions
def rank_at(s, k):
    top = np.sort(s)[::-1][:k]
    return top.sum() ** 2 / (top**2).sum()


def directions_needed(s, share):
    return next(k for k in range(1, len(s) + 1) if rank_at(s, k) >= share * rank_at(s, len(s)))


def rank_free_of_k(jacobian, k, seed):
    v = np.linalg.svd(jacobian[:, :k], compute_uv=False) ** 2
    q = v.sum() ** 2 / (v**2).sum()
    return (q * (k + 1) - 2) / (k - q)
