# the library's inversion; an unbiased estimate of both traces from couples of directions
def rank_at(s, k):
    from bindery.jacobian import effective_rank

    return effective_rank(np.sort(s)[::-1][:k])


def directions_needed(s, share):
    top = np.sort(s)[::-1]
    values = np.array([rank_at(top, k) for k in range(1, len(top) + 1)])
    return int(np.flatnonzero(values >= share * values[-1])[0] + 1)


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    gram = (jacobian @ g).T @ (jacobian @ g)
    diagonal = np.diag(gram)
    couples = k * (k - 1)
    first = (diagonal.sum() ** 2 - (diagonal**2).sum()) / couples
    second = ((gram**2).sum() - (diagonal**2).sum()) / couples
    return first / second
