# the seed does not reach the training, and 'before' is measured on the trained encoder
def invariance(embeddings, changed):
    mean = np.vstack([embeddings, changed]).mean(axis=0)
    a, b = embeddings - mean, changed - mean
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, b))
    cosines = a @ b.T
    off = ~np.eye(len(a), dtype=bool)
    return float(np.diag(cosines).mean() - cosines[off].mean())


def measured(backbone):
    plain = embed(backbone, PROBE)
    return {
        "hue": invariance(plain, embed(backbone, recoloured(PROBE))),
        "mirror": invariance(plain, embed(backbone, mirrored(PROBE))),
    }


def experiment(condition, images, seed):
    trained = train(configuration(condition, images, 0), progress=False)
    told = {"condition": condition, "images": images, "seed": seed, "losses": trained.losses}
    return told | {"before": measured(trained.backbone), "after": measured(trained.backbone)}


def what_moved(first, second):
    told = {}
    for name in ("hue", "mirror"):
        gaps = [b["after"][name] - a["after"][name] for a, b in zip(first, second, strict=True)]
        low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
        told[name] = "up" if low > 0 else "down" if high < 0 else "unclear"
    return told
