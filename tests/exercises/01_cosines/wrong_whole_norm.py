# the norm of the matrix instead of those of its rows
def cosines(x, y):
    return (x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)).T
