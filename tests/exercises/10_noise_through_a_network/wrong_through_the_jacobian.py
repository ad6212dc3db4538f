# simulates the linear map instead of the network
def jacobian(w1, w2, x):
    return (w2 * (1 - np.tanh(w1 @ x) ** 2)) @ w1


def push_forward(j, sigma):
    return j @ sigma @ j.T


def simulate(w1, w2, x, sigma, n, seed):
    z = np.random.default_rng(seed).standard_normal((n, len(x)))
    return np.cov(z @ np.linalg.cholesky(sigma).T @ jacobian(w1, w2, x).T, rowvar=False)
