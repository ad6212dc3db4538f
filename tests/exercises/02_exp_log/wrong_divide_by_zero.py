# divides by the length of the arrow: NaN at zero
def exp(tangents, base):
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    return np.cos(length) * base + np.sin(length) * tangents / length


def log(points, base):
    angle = 2 * np.arctan2(np.linalg.norm(points - base, axis=1), np.linalg.norm(points + base, axis=1))
    arrow = points - (points @ base)[:, None] * base
    return angle[:, None] * arrow / np.linalg.norm(arrow, axis=1, keepdims=True)
