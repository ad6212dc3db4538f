# a retraction and a projection: right for short arrows only
def exp(tangents, base):
    moved = base + tangents
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def log(points, base):
    return points - (points @ base)[:, None] * base
