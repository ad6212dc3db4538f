# solves the normal equations with zero-sum effects
def marginal_means(values, present):
    out = np.empty(values.shape)
    for a in range(values.shape[0]):
        for o in range(values.shape[1]):
            out[a, o] = (
                values[a, present[a]].mean(0) + values[present[:, o], o].mean(0) - values[present].mean(0)
            )
    return out


def least_squares(values, present):
    n_a = len(present)
    counts = present.astype(float)
    system = np.block([[np.diag(counts.sum(1)), counts], [counts.T, np.diag(counts.sum(0))]])
    filled = np.where(present[..., None], values, 0)
    right = np.vstack([filled.sum(axis=1), filled.sum(axis=0)])
    effects = np.linalg.pinv(system) @ right
    return effects[:n_a][:, None] + effects[n_a:][None]


def company(beta, present):
    weights = present / present.sum(axis=1, keepdims=True)
    return np.einsum("ao,od->ad", weights, beta)
