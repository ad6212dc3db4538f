# the whole Jacobian first; crossing times instead of signs
def jvp(w1, w2, x, v):
    jacobian = w2 @ np.diag(1 - np.tanh(w1 @ x) ** 2) @ w1
    return jacobian @ v


def difference(w1, w2, x, v, h):
    return sum(sign * network(w1, w2, x + sign * h * v) for sign in (1, -1)) / (2 * h)


def good_step(w1, w2, x, v):
    return 1e-5 / np.abs(v).max()


def switching(w1, x, v, h):
    when = np.abs((w1 @ x) / (w1 @ v))
    return np.nonzero(when < h)[0]
