"""Global and local geometry of embeddings, what it owes to the number of images, and fair comparison.

All measures centre the rows and leave their lengths alone, except `uniformity`, which is about directions.
C is the covariance of the N rows, λ₁ ≥ … ≥ λ_D its eigenvalues.
"""

from bindery.geometry.comparison import DEFAULT_METRICS, compare_geometry, value_against_n
from bindery.geometry.measures import (
    effective_rank,
    isotropy,
    local_isotropy,
    participation_ratio,
    uniformity,
)

__all__ = [
    "DEFAULT_METRICS",
    "compare_geometry",
    "effective_rank",
    "isotropy",
    "local_isotropy",
    "participation_ratio",
    "uniformity",
    "value_against_n",
]
