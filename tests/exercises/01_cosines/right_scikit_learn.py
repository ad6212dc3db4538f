# scikit-learn's
def cosines(x, y):
    from sklearn.metrics.pairwise import cosine_similarity

    return cosine_similarity(x, y)
