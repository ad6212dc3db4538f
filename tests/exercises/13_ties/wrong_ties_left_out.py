# questions that tie are left out
def accuracy(right, wrong):
    decided = right != wrong
    return (right > wrong)[decided].mean() if decided.any() else 0.5
