# strictly higher, plus half of the equal ones
def accuracy(right, wrong):
    return (right > wrong).mean() + (right == wrong).mean() / 2
