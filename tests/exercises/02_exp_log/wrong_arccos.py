# the angle is the arccos of a clipped cosine: short arrows lose their digits
def exp(tangents, base):
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sinc(length / np.pi) * tangents


def log(points, base):
    cosine = np.clip(points @ base, -1, 1)
    arrow = points - cosine[:, None] * base
    length = np.linalg.norm(arrow, axis=1)
    return np.where(length > 0, np.arccos(cosine) / np.maximum(length, 1e-300), 0)[:, None] * arrow
