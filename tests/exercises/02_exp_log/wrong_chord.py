# the length of the arrow is the chord, not the angle
def exp(tangents, base):
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sinc(length / np.pi) * tangents


def log(points, base):
    chord = np.linalg.norm(points - base, axis=1)
    arrow = points - (points @ base)[:, None] * base
    return (chord / np.maximum(np.linalg.norm(arrow, axis=1), 1e-300))[:, None] * arrow
