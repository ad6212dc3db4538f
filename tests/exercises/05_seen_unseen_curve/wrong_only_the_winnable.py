# divides by the images that can be right, not by all
def accuracies(true, rival_seen, rival_unseen, is_seen, bias):
    own = true + np.where(is_seen, 0, bias)
    right = (own > rival_seen) & (own > rival_unseen + bias)
    return right[is_seen].mean(), right[~is_seen].mean()


def area(true, rival_seen, rival_unseen, is_seen):
    lost = (true - rival_unseen)[is_seen & (true > rival_seen)]
    won = (rival_seen - true)[~is_seen & (true > rival_unseen)]
    return (lost[:, None] > won).mean()
