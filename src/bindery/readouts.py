"""Ways to read a similarity from frozen embeddings; what is fitted is fitted on held-out scenes.

A readout maps queries (T, D) and candidates (T, C, D) to similarities (T, C), larger is nearer. kNN and local
PCA are named by Paper S without definitions; the definitions here are this project's (they have no weights to
fit). Whitening and the linear probe are fitted, so they tell what a cosine overlooks though it is there.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bindery.checks import finite_rows, same_length
from bindery.errors import InputError

Floats = NDArray[np.floating]


class Readout(Protocol):
    """Similarities of each query (T, D) with its candidates (T, C, D): (T, C) float64."""

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]: ...


def _unit(rows: Floats) -> NDArray[np.float64]:
    """Rows scaled to length one; a zero row stays zero, so that its cosine with anything is 0."""
    rows = np.asarray(rows, np.float64)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def cosine(query: Floats, candidates: Floats) -> NDArray[np.float64]:
    """Cosine of each query with its candidates, rounded to 12 digits so that equal images tie."""
    return np.round(np.einsum("td,tcd->tc", _unit(query), _unit(candidates)), 12)


class Cosine:
    """The paper's readout."""

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]:
        return cosine(query, candidates)


class KNN:
    """Mean cosine of the query with the candidate's k nearest neighbours in a bank of other scenes.

    Parameters
    ----------
    bank : (M, D) array
        Embeddings of held-out scenes, M >= k.
    """

    def __init__(self, bank: ArrayLike, k: int = 10) -> None:
        self.bank = _unit(finite_rows(bank, "bank"))
        self.k = k
        if not 1 <= k <= len(self.bank):
            raise InputError(f"k must be within 1 and the {len(self.bank)} rows of the bank, got {k}")

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]:
        to_query = _unit(query) @ self.bank.T  # (T, M)
        scores = np.empty(candidates.shape[:2])
        for column in range(candidates.shape[1]):
            near = np.argpartition(-(_unit(candidates[:, column]) @ self.bank.T), self.k - 1, axis=1)[
                :, : self.k
            ]
            scores[:, column] = np.take_along_axis(to_query, near, axis=1).mean(axis=1)
        return np.round(scores, 12)


class LocalPCA:
    """Cosine after projection on the principal axes of the query's neighbourhood in the bank.

    Parameters
    ----------
    bank : (M, D) array
        Embeddings of held-out scenes.
    k, rank : int
        Neighbours of the query (by cosine) and principal axes kept, rank < k.
    """

    def __init__(self, bank: ArrayLike, k: int = 50, rank: int = 16) -> None:
        self.bank = finite_rows(bank, "bank").astype(np.float64)
        self.k, self.rank = k, rank
        if not 1 <= rank < k <= len(self.bank):
            raise InputError(f"need 1 <= rank < k <= {len(self.bank)} bank rows, got rank={rank}, k={k}")

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]:
        near = np.argpartition(-(_unit(query) @ _unit(self.bank).T), self.k - 1, axis=1)[:, : self.k]
        scores = np.empty(candidates.shape[:2])
        for row, neighbours in enumerate(near):
            local = self.bank[neighbours]
            centre = local.mean(axis=0)
            axes = np.linalg.svd(local - centre, full_matrices=False)[2][: self.rank]
            scores[row] = cosine(
                ((query[row] - centre) @ axes.T)[None], ((candidates[row] - centre) @ axes.T)[None]
            )[0]
        return scores


class Whitening:
    """Cosine after whitening with the mean and covariance of held-out embeddings.

    Parameters
    ----------
    bank : (M, D) array
        Embeddings of held-out scenes.
    shrinkage : float
        Share of the mean eigenvalue added to every eigenvalue, in (0, 1].
    """

    def __init__(self, bank: ArrayLike, shrinkage: float = 1e-3) -> None:
        rows = finite_rows(bank, "bank").astype(np.float64)
        if len(rows) < 2 or not 0 < shrinkage <= 1:
            raise InputError(f"need two bank rows and 0 < shrinkage <= 1, got {len(rows)} and {shrinkage}")
        self.mean = rows.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(rows.T).reshape(rows.shape[1], -1))
        if values.mean() <= 0:
            raise InputError("the bank has no variance: nothing to whiten")
        self.matrix = vectors / np.sqrt(np.maximum(values, 0) + shrinkage * values.mean())

    def transform(self, rows: Floats) -> NDArray[np.float64]:
        """Whitened rows, (..., D)."""
        return (rows - self.mean) @ self.matrix

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]:
        return cosine(self.transform(query), self.transform(candidates))


class LinearProbe:
    """Ridge regression from embeddings to 0/1 labels of held-out scenes; cosine of the predictions.

    Parameters
    ----------
    bank : (M, D) array
        Embeddings of held-out scenes.
    labels : (M, L) array
        For instance ``scenes.bound_labels``.
    alpha : float
        Ridge penalty as a share of the mean eigenvalue of the centred embeddings' second moment, > 0.
    """

    def __init__(self, bank: ArrayLike, labels: ArrayLike, alpha: float = 1e-3) -> None:
        rows = finite_rows(bank, "bank").astype(np.float64)
        targets = finite_rows(labels, "labels").astype(np.float64)
        same_length(bank=rows, labels=targets)
        if alpha <= 0:
            raise InputError(f"the ridge penalty must be positive, got {alpha}")
        self.mean, self.offset = rows.mean(axis=0), targets.mean(axis=0)
        centred = rows - self.mean
        gram = centred.T @ centred
        penalty = alpha * max(np.trace(gram) / len(gram), np.finfo(float).tiny)
        self.weights = np.linalg.solve(
            gram + penalty * np.eye(len(gram)), centred.T @ (targets - self.offset)
        )

    def predict(self, rows: Floats) -> NDArray[np.float64]:
        """Predicted labels, (..., L), not clipped."""
        return (rows - self.mean) @ self.weights + self.offset

    def __call__(self, query: Floats, candidates: Floats) -> NDArray[np.float64]:
        centred_query = self.predict(query) - self.offset
        return cosine(centred_query, self.predict(candidates) - self.offset)
