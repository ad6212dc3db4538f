# corrects as if every spectrum were flat
def participation_ratio(x):
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred
    return np.trace(gram) ** 2 / (gram**2).sum()


def expected_isotropic(n, d):
    return n * d / (n + d)


def corrected(x):
    n, d = x.shape
    return participation_ratio(x) * (n + d) / n
