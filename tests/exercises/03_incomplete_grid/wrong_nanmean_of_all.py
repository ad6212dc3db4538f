# divides by the number of all pairs: missing pairs count as zero
def marginal_means(values, present):
    filled = np.nan_to_num(values)
    return filled.mean(axis=1, keepdims=True) + filled.mean(axis=0) - filled.mean(axis=(0, 1))


def least_squares(values, present):
    n_a, n_o = present.shape
    a, o = np.nonzero(present)
    design = np.hstack([np.eye(n_a)[a], np.eye(n_o)[o]])
    effects = np.linalg.lstsq(design, values[a, o], rcond=None)[0]
    return effects[:n_a, None] + effects[n_a:]


def company(beta, present):
    return present @ beta / len(beta)
