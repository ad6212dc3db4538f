"""Switches under which every supported network can be differentiated forward and backward."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from bindery.jacobian.lowering import PlainFormulas


@contextmanager
def differentiable() -> Iterator[None]:
    """Attention by its plain formula, the multi-head fast path off, norms in their cheapest form.

    The fused attention kernels and the fast path have no forward-mode derivative. Everything is put back on
    leaving, also after an error. Works inside ``torch.inference_mode`` and ``torch.no_grad`` too.
    """
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with (
            torch.inference_mode(False),
            sdpa_kernel(SDPBackend.MATH),
            PlainFormulas(),
            warnings.catch_warnings(),
        ):
            # A view without a batching rule in torch's pooling; its cost is not noticeable.
            warnings.filterwarnings("ignore", message="There is a performance drop")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
