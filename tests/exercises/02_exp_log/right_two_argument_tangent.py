# the angle from sine and cosine, the part in the sheet from the difference
def exp(tangents, base):
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sinc(length / np.pi) * tangents


def log(points, base):
    step = points - base
    step = step - np.outer(step @ base, base)
    sine = np.linalg.norm(step, axis=1)
    angle = np.arctan2(sine, points @ base)
    factor = np.divide(angle, sine, out=np.ones_like(sine), where=sine > 0)
    return factor[:, None] * step
