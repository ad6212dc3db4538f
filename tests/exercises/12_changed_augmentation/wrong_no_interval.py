# not about the mean: cosines of embeddings far from the origin are all near one; no interval
def invariance(embeddings, changed):
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (embeddings, changed))
    return float((a * b).sum(axis=1).mean() - (a @ b.T).mean())


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
    gap = {
        k: np.mean([b["after"][k] for b in second]) - np.mean([a["after"][k] for a in first])
        for k in ("hue", "mirror")
    }
    return {k: "up" if v > 0 else "down" for k, v in gap.items()}
