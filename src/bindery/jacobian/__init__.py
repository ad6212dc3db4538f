"""How an encoder answers to small changes of an image: its Jacobian's singular values and effective rank.

>>> from bindery.jacobian import effective_rank, jer, singular_values
>>> effective_rank([3.0, 3.0, 3.0])
3.0
"""

from bindery.jacobian.api import JER, check_derivative, jer, linearize, noise_images, singular_values
from bindery.jacobian.batched import jacobians
from bindery.jacobian.convergence import dense, k_curve, rounds_curve, value_errors
from bindery.jacobian.estimators import SingularValues, directions, estimate, full_jacobian
from bindery.jacobian.products import DenseMap, Linearization, LinearMap
from bindery.jacobian.ranks import KINDS, Kind, effective_rank, gaussian_rank, rank_free_of_k
from bindery.jacobian.switches import differentiable

__all__ = [
    "JER",
    "KINDS",
    "DenseMap",
    "Kind",
    "LinearMap",
    "Linearization",
    "SingularValues",
    "check_derivative",
    "dense",
    "differentiable",
    "directions",
    "effective_rank",
    "estimate",
    "full_jacobian",
    "gaussian_rank",
    "jacobians",
    "jer",
    "k_curve",
    "linearize",
    "noise_images",
    "rank_free_of_k",
    "rounds_curve",
    "singular_values",
    "value_errors",
]
