# the library's table of groups
def averages(correct, groups, train_groups):
    from bindery.groups import group_accuracy

    known = [str(name) for name in groups]
    train = [str(name) for name in train_groups]
    try:
        table = group_accuracy(correct.tolist(), [True] * len(correct), known, train_groups=train)
        weighted = table.weighted_average
    except ValueError:  # a group without training images
        table = group_accuracy(correct.tolist(), [True] * len(correct), known)
        counts = [train.count(str(name)) for name in table.table["group"]]
        weighted = np.average(table.table["accuracy"], weights=counts)
    return {"plain": table.average, "weighted": float(weighted), "worst": table.worst}


def printed_average(accuracies, n_test, n_train, printed):
    close = []
    for name, sizes in (("plain", n_test), ("weighted", n_train)):
        if abs(sum(a * n for a, n in zip(accuracies, sizes, strict=True)) / sum(sizes) - printed) <= 0.1:
            close.append(name)
    return "either" if len(close) == 2 else close[0] if close else "neither"
