# the first of the largest wins, and the right caption stands first
def accuracy(right, wrong):
    return (np.argmax([right, wrong], axis=0) == 0).mean()
