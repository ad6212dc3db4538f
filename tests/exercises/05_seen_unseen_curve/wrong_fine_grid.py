# three thousand equally spaced biases, which miss steps that lie close together
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    own = true + np.where(is_seen, 0, bias)
    right = (own > rival_seen) & (own > rival_unseen + bias)
    return right[is_seen].mean(), right[~is_seen].mean()


def area(true, rival_seen, rival_unseen, is_seen):
    switches = np.r_[true - rival_unseen, rival_seen - true]
    biases = np.linspace(switches.min() - 1e-6, switches.max() + 1e-6, 3000)
    points = np.array([accuracies(true, rival_seen, rival_unseen, is_seen, b) for b in biases])
    return abs(np.trapezoid(points[:, 0], points[:, 1]))
