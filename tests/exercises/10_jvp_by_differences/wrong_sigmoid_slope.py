# forgets the square, and the two in the denominator
def jvp(w1, w2, x, v):
    return w2 @ ((1 - np.tanh(w1 @ x)) * (w1 @ v))


def difference(w1, w2, x, v, h):
    return (network(w1, w2, x + h * v) - network(w1, w2, x - h * v)) / h


def good_step(w1, w2, x, v):
    return 1e-5 * np.linalg.norm(v)


def switching(w1, x, v, h):
    return np.flatnonzero(w1 @ (x - h * v) != w1 @ (x + h * v)).tolist()
