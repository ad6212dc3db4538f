# second moments around zero; the slope at zero
def jacobian(w1, w2, x):
    return w2 @ w1


def push_forward(j, sigma):
    return j @ sigma @ j.T


def simulate(w1, w2, x, sigma, n, seed):
    z = np.random.default_rng(seed).standard_normal((n, len(x)))
    outputs = network(w1, w2, x + z @ np.linalg.cholesky(sigma).T)
    return outputs.T @ outputs / n
