# takes the rarest training group for the worst
def averages(correct, groups, train_groups):
    names, counts = np.unique(train_groups, return_counts=True)
    rare = names[counts.argmin()]
    accuracy = {name: correct[groups == name].mean() for name in names}
    weighted = sum(accuracy[name] * n for name, n in zip(names, counts, strict=True)) / counts.sum()
    return {"plain": correct.mean(), "weighted": weighted, "worst": accuracy[rare]}


def printed_average(accuracies, n_test, n_train, printed):
    gaps = [abs(np.average(accuracies, weights=n) - printed) for n in (n_test, n_train)]
    return "plain" if gaps[0] < gaps[1] else "weighted"
