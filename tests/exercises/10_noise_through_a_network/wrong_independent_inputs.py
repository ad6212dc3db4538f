# only the variances of the inputs, not their correlations
def jacobian(w1, w2, x):
    return (w2 * (1 - np.tanh(w1 @ x) ** 2)) @ w1


def push_forward(j, sigma):
    return (j * np.diag(sigma)) @ j.T


def simulate(w1, w2, x, sigma, n, seed):
    z = np.random.default_rng(seed).standard_normal((n, len(x)))
    return np.cov(network(w1, w2, x + z * np.sqrt(np.diag(sigma))), rowvar=False)
