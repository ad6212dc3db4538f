# the own pair of an unseen image does not get the bias
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    right = (true > rival_seen) & (true > rival_unseen + bias)
    return right[is_seen].mean(), right[~is_seen].mean()


def area(true, rival_seen, rival_unseen, is_seen):
    biases = np.sort(np.r_[-100, true - rival_unseen - 1e-9, true - rival_unseen + 1e-9, 100])
    points = np.array([accuracies(true, rival_seen, rival_unseen, is_seen, b) for b in biases])
    return abs(np.trapezoid(points[:, 0], points[:, 1]))
