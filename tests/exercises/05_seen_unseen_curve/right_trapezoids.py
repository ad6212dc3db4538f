# accuracies in the middle of every gap
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    own = np.where(is_seen, true, true + bias)
    right = own > np.maximum(rival_seen, rival_unseen + bias)
    return [right[is_seen].mean(), right[~is_seen].mean()]


def area(true, rival_seen, rival_unseen, is_seen):
    switches = np.unique(np.r_[true - rival_unseen, rival_seen - true])
    middles = np.r_[-np.inf, (switches[1:] + switches[:-1]) / 2, np.inf]
    middles[[0, -1]] = switches[0] - 1, switches[-1] + 1
    seen, unseen = np.array([accuracies(true, rival_seen, rival_unseen, is_seen, b) for b in middles]).T
    return np.sum((seen[1:] + seen[:-1]) / 2 * np.diff(unseen))
