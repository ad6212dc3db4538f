# the grand mean is the mean of the row means, not of the pairs; one sweep instead of a fit
def marginal_means(values, present):
    rows, columns = np.nanmean(values, axis=1), np.nanmean(values, axis=0)
    return rows[:, None] + columns - rows.mean(axis=0)


def least_squares(values, present):
    rows = np.nanmean(values, axis=1)
    columns = np.nanmean(values - rows[:, None], axis=0)
    return rows[:, None] + columns


def company(beta, present):
    return np.array([beta[row].mean(axis=0) for row in present]) - beta.mean(axis=0)
