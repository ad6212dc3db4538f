# the average of the two rules that give ties to one side
def accuracy(right, wrong):
    wins, losses = np.count_nonzero(right > wrong), np.count_nonzero(right < wrong)
    return (wins + len(right) - losses) / (2 * len(right))
