"""Statistics over encoders: few, in families, and tried against many metrics.

Every function takes a table with one row an encoder (columns ``encoder``, ``family``, ``trained`` and
metrics) and refuses one that mixes trained with untrained encoders or counts a seed as an encoder.
"""

from bindery.inference.correlation import (
    correlate,
    difference_of_correlations,
    fisher_interval,
    leave_one_family_out,
    partial_correlate,
)
from bindery.inference.many import max_t, power_curve, power_table, published
from bindery.inference.panel import Panel, average_seeds, check_panel
from bindery.inference.regression import regress

__all__ = [
    "Panel",
    "average_seeds",
    "check_panel",
    "correlate",
    "difference_of_correlations",
    "fisher_interval",
    "leave_one_family_out",
    "max_t",
    "partial_correlate",
    "power_curve",
    "power_table",
    "published",
    "regress",
]
