# divides only where there is a length
def cosines(x, y):
    lengths = np.outer(np.sqrt((x**2).sum(axis=1)), np.sqrt((y**2).sum(axis=1)))
    return np.divide(x @ y.T, lengths, out=np.zeros(lengths.shape), where=lengths > 0)
