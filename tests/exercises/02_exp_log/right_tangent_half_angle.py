# sine and cosine from the sheet's own part of the point
def exp(tangents, base):
    out = np.empty_like(tangents)
    for row, arrow in enumerate(tangents):
        length = np.linalg.norm(arrow)
        out[row] = base if length == 0 else np.cos(length) * base + np.sin(length) * (arrow / length)
    return out


def log(points, base):
    out = np.zeros_like(points)
    for row, point in enumerate(points):
        step = point - base
        arrow = step - (step @ base) * base
        sine = np.linalg.norm(arrow)
        if sine > 0:
            out[row] = np.arctan2(sine, point @ base) * arrow / sine
    return out
