# one sort and cumulative sums, groups of equal biases at once
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    shift = np.where(is_seen, 0.0, bias)
    right = (true + shift > rival_seen) & (true + shift > rival_unseen + bias)
    return np.array([right[is_seen].sum() / is_seen.sum(), right[~is_seen].sum() / (~is_seen).sum()])


def area(true, rival_seen, rival_unseen, is_seen):
    lost = (true - rival_unseen)[is_seen & (true > rival_seen)]
    won = (rival_seen - true)[~is_seen & (true > rival_unseen)]
    seen, unseen, total = len(lost) / is_seen.sum(), 0.0, 0.0
    for bias in np.unique(np.r_[lost, won]):
        after_seen = seen - (lost == bias).sum() / is_seen.sum()
        after_unseen = unseen + (won == bias).sum() / (~is_seen).sum()
        total += (after_unseen - unseen) * (seen + after_seen) / 2
        seen, unseen = after_seen, after_unseen
    return total
