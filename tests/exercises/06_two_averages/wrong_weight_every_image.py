# weights test images by their group's training share: test sizes enter a second time
def averages(correct, groups, train_groups):
    weight = np.array([(train_groups == g).mean() for g in groups])
    accuracy = [correct[groups == g].mean() for g in np.unique(groups)]
    return {"plain": correct.mean(), "weighted": np.average(correct, weights=weight), "worst": min(accuracy)}


def printed_average(accuracies, n_test, n_train, printed):
    return "plain" if abs(np.average(accuracies, weights=n_test) - printed) <= 0.1 else "weighted"
