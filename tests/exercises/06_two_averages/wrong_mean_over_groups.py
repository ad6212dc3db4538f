# the mean of the group accuracies for the plain average
def averages(correct, groups, train_groups):
    names = np.unique(groups)
    accuracy = np.array([correct[groups == name].mean() for name in names])
    shares = np.array([(train_groups == name).mean() for name in names])
    return {"plain": accuracy.mean(), "weighted": accuracy @ shares, "worst": accuracy.min()}


def printed_average(accuracies, n_test, n_train, printed):
    plain = abs(np.mean(accuracies) - printed) <= 0.1
    weighted = abs(np.average(accuracies, weights=n_train) - printed) <= 0.1
    return "either" if plain and weighted else "plain" if plain else "weighted" if weighted else "neither"
