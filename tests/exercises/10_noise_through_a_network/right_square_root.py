# the symmetric square root, and mirrored draws
def jacobian(w1, w2, x):
    return np.array([[np.sum(row * (1 - np.tanh(w1 @ x) ** 2) * column) for column in w1.T] for row in w2])


def push_forward(j, sigma):
    values, axes = np.linalg.eigh(sigma)
    half = j @ axes * np.sqrt(np.maximum(values, 0))
    return half @ half.T


def simulate(w1, w2, x, sigma, n, seed):
    values, axes = np.linalg.eigh(sigma)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    z = np.random.default_rng(seed).standard_normal((n // 2, len(x))) @ root
    return np.cov(network(w1, w2, np.vstack([x + z, x - z])).T)
