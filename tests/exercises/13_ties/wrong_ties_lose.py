# a tie is wrong
def accuracy(right, wrong):
    return (right > wrong).mean()
