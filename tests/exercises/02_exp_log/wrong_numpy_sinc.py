# takes np.sinc(t) for sin(t)/t
def exp(tangents, base):
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sinc(length) * tangents


def log(points, base):
    angle = 2 * np.arctan2(np.linalg.norm(points - base, axis=1), np.linalg.norm(points + base, axis=1))
    arrow = points - (points @ base)[:, None] * base
    return (angle / np.maximum(np.linalg.norm(arrow, axis=1), 1e-300))[:, None] * arrow
