# forward mode with dual numbers; the step by a scan
def jvp(w1, w2, x, v):
    hidden, moved = w1 @ x, w1 @ v
    return w2 @ (moved / np.cosh(hidden) ** 2)


def difference(w1, w2, x, v, h):
    ahead, behind = network(w1, w2, x + v * h), network(w1, w2, x - v * h)
    return 0.5 * (ahead - behind) / h


def good_step(w1, w2, x, v):
    goal, candidates = jvp(w1, w2, x, v), 10.0 ** np.arange(-12, 3) / np.sqrt(v @ v)
    misses = [np.abs(difference(w1, w2, x, v, h) - goal).max() for h in candidates]
    return candidates[np.argmin(misses)]


def switching(w1, x, v, h):
    ends = np.sign(w1 @ (x - h * v)) * np.sign(w1 @ (x + h * v))
    return [i for i, product in enumerate(ends) if product < 0]
