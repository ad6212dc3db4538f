# twenty biases instead of all
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    own = true + np.where(is_seen, 0, bias)
    right = (own > rival_seen) & (own > rival_unseen + bias)
    return right[is_seen].mean(), right[~is_seen].mean()


def area(true, rival_seen, rival_unseen, is_seen):
    biases = np.linspace(-10, 10, 20)
    points = np.array([accuracies(true, rival_seen, rival_unseen, is_seen, b) for b in biases])
    return np.trapezoid(points[:, 0], points[:, 1])
