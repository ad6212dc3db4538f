# Newton's step for a cloud that looks alike in all directions
def intrinsic_mean(points, weights):
    share = weights / np.sum(weights)
    mean = share @ points / np.linalg.norm(share @ points)
    while True:
        arrows = log(points, mean)
        angle = np.maximum(np.linalg.norm(arrows, axis=1), 1e-12)
        bend = share @ (angle / np.tan(angle))
        step = share @ arrows
        step -= (step @ mean) * mean
        if np.linalg.norm(step) < 1e-11:
            return mean
        mean = exp(step / max(bend, 0.2), mean)
        mean /= np.linalg.norm(mean)


def certificate(points, weights, mean):
    share = weights / weights.sum()
    angles = np.array([distance(point, mean) for point, w in zip(points, weights, strict=True) if w > 0])
    return [
        float(np.linalg.norm(sum(w * log(p, mean) for p, w in zip(points, share, strict=True)))),
        angles.max(),
    ]
