# the smaller the better
def jvp(w1, w2, x, v):
    h = 1e-6
    return (network(w1, w2, x + h * v) - network(w1, w2, x - h * v)) / (2 * h)


def difference(w1, w2, x, v, h):
    return (network(w1, w2, x + h * v) - network(w1, w2, x - h * v)) / (2 * h)


def good_step(w1, w2, x, v):
    return np.finfo(float).eps / np.linalg.norm(v)


def switching(w1, x, v, h):
    return np.flatnonzero(np.abs(w1 @ x) < h).tolist()
