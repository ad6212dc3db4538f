# traces of the Gram matrix instead of singular values
def rank_at(s, k):
    top = -np.sort(-s)[: min(k, len(s))]
    return np.sum(top) ** 2 / np.dot(top, top)


def directions_needed(s, share):
    goal = share * rank_at(s, len(s))
    for k in range(1, len(s) + 1):
        if rank_at(s, k) >= goal:
            return k
    return len(s)


def rank_free_of_k(jacobian, k, seed):
    g = np.random.default_rng(seed).standard_normal((jacobian.shape[1], k))
    gram = (jacobian @ g).T @ (jacobian @ g)
    q = np.trace(gram) ** 2 / np.sum(gram * gram)
    return (2 - q * (k + 1)) / (q - k)
