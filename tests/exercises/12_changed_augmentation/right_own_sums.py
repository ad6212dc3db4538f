# trains from the built state's own configuration; sums instead of masks
def invariance(embeddings, changed):
    both = np.concatenate([embeddings, changed])
    both = both - both.mean(axis=0)
    both /= np.sqrt((both**2).sum(axis=1))[:, None]
    a, b = np.split(both, 2)
    n = len(a)
    match = np.einsum("nd,nd->", a, b)
    everything = a.sum(axis=0) @ b.sum(axis=0)
    return match / n - (everything - match) / (n * n - n)


def experiment(condition, images, seed):
    record = {"condition": condition, "images": images, "seed": seed}
    config = configuration(condition, images, seed)
    changes = {"hue": recoloured, "mirror": mirrored}
    trained = train(config, progress=False)
    for when, backbone in (("before", build(config).backbone), ("after", trained.backbone)):
        plain = embed(backbone, PROBE)
        record[when] = {
            k: float(invariance(plain, embed(backbone, change(PROBE)))) for k, change in changes.items()
        }
    record["losses"] = tuple(float(loss) for loss in trained.losses)
    return record


def what_moved(first, second):
    def word(name):
        gaps = np.array([b["after"][name] for b in second]) - np.array([a["after"][name] for a in first])
        t = gaps.mean() / (gaps.std(ddof=1) / len(gaps) ** 0.5)
        return "unclear" if abs(t) < stats.t.ppf(0.975, len(gaps) - 1) else ("down", "up")[int(t > 0)]

    return {name: word(name) for name in ("hue", "mirror")}
