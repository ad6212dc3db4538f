# the value of the sketch itself; counts from zero
def rank_at(s, k):
    top = np.sort(s)[-k:]
    return top.sum() ** 2 / (top**2).sum()


def directions_needed(s, share):
    top = np.sort(s)[::-1]
    values = np.cumsum(top) ** 2 / np.cumsum(top**2)
    return int(np.argmax(values >= share * values[-1]))


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    v = np.linalg.svd(jacobian @ g, compute_uv=False) ** 2
    return v.sum() ** 2 / (v**2).sum()
