# the two conditions compared as independent samples, with a normal instead of Student's interval
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
    config = configuration(condition, images, seed)
    before = measured(build(config).backbone)
    trained = train(config, progress=False)
    told = {"condition": condition, "images": images, "seed": seed, "losses": trained.losses}
    return told | {"before": before, "after": measured(trained.backbone)}


def what_moved(first, second):
    told = {}
    for name in ("hue", "mirror"):
        a, b = (np.array([r["after"][name] for r in records]) for records in (first, second))
        gap, reach = b.mean() - a.mean(), 1.96 * np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
        told[name] = "up" if gap > reach else "down" if gap < -reach else "unclear"
    return told
