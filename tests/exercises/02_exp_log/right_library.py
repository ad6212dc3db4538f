# the library's own maps
def exp(tangents, base):
    from bindery import sphere

    return sphere.exp(tangents, base)


def log(points, base):
    from bindery import sphere

    return sphere.log(points, base)
