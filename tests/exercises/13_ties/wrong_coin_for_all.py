# half a point for every tie, but in per cent
def accuracy(right, wrong):
    return 100 * ((right > wrong).mean() + 0.5 * (right == wrong).mean())
