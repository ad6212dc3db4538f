# weights images by one over their training share
def averages(correct, groups, train_groups):
    weight = np.array([1 / max((train_groups == g).mean(), 1e-9) for g in groups])
    accuracy = [correct[groups == g].mean() for g in np.unique(groups)]
    return {"plain": correct.mean(), "weighted": np.average(correct, weights=weight), "worst": min(accuracy)}


def printed_average(accuracies, n_test, n_train, printed):
    fits = [abs(np.average(accuracies, weights=n) - printed) <= 0.1 for n in (n_test, n_train)]
    return ["neither", "weighted", "plain", "either"][2 * fits[0] + fits[1]]
