# counts instead of masks
def averages(correct, groups, train_groups):
    names, place = np.unique(groups, return_inverse=True)
    n = np.bincount(place)
    right = np.bincount(place, weights=correct)
    train = np.array([np.count_nonzero(train_groups == name) for name in names])
    accuracy = right / n
    return {
        "plain": right.sum() / n.sum(),
        "weighted": np.average(accuracy, weights=train),
        "worst": min(accuracy),
    }


def printed_average(accuracies, n_test, n_train, printed):
    plain = round(abs(float(accuracies @ n_test / n_test.sum()) - printed), 6) <= 0.1
    weighted = round(abs(float(accuracies @ n_train / n_train.sum()) - printed), 6) <= 0.1
    if plain and weighted:
        return "either"
    return "plain" if plain else "weighted" if weighted else "neither"
