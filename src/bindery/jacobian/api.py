"""The Jacobian of an encoder at an image, in one call, and its effective rank over many images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm.auto import tqdm

from bindery.errors import InputError
from bindery.jacobian.blocks import Token
from bindery.jacobian.estimators import Method, SingularValues, estimate
from bindery.jacobian.products import Linearization
from bindery.jacobian.ranks import KINDS, Kind, effective_rank, rank_free_of_k
from bindery.jacobian.seeds import Seed, generator
from bindery.jacobian.selfcheck import SelfCheck, self_check
from bindery.jacobian.target import Dtype, ImageInput, make_target


def linearize(encoder: Any, image: ImageInput, **options: Any) -> Linearization:
    """The Jacobian as products; ``options``: ``module`` to ``memory_mb`` of `singular_values`."""
    return make_target(encoder, **options).linearize(image)


def check_derivative(encoder: Any, image: ImageInput, seed: int = 0, **options: Any) -> SelfCheck:
    """Compare one direction with float64 differences, and forward with backward mode; raises InputError."""
    target = make_target(encoder, **options)
    return self_check(target, target.linearize(image), seed)


def singular_values(
    encoder: Any,
    image: ImageInput,
    k: int = 32,
    method: Method = "range_finder",
    rounds: int = 5,
    oversample: int = 0,
    seed: Seed = 0,
    *,
    module: str | None = None,
    token: Token = "auto",
    unit: bool = False,
    dtype: Dtype | None = None,
    chunk: int | None = None,
    memory_mb: float = 400.0,
    check: bool = True,
) -> SingularValues:
    """The k largest singular values of the Jacobian of an encoder's output at one image.

    The derivative is taken with respect to the normalised (3, H, W) input, of the embedding before any
    unit-norming.

    Parameters
    ----------
    encoder
        An `Encoder`, or a torch module or function from (1, 3, H, W) to (1, D), in eval mode.
    image
        PIL image or uint8 array (for an `Encoder`), or a normalised (1, 3, H, W) tensor.
    k
        How many; lowered to min(D, M) where there are fewer, and the result says so.
    method
        "range_finder": the paper's; "sketch": the singular values of J V for k random orthonormal directions,
        which is another quantity (they are no top values); "exact": all products, for D up to 1024.
    rounds, oversample
        Of the range finder: power rounds, and directions beyond k that are dropped at the end.
    seed
        Of the random directions.
    module, token
        Name of a block to differentiate instead of the output, and how its tokens become a vector
        (see `bindery.jacobian.blocks.block_function`).
    unit
        Differentiate the unit-normed output instead.
    dtype
        Precision of the network; a copy is made unless it already has it.
    chunk, memory_mb
        Directions in one pass; chosen so that the memory over the network stays below ``memory_mb`` when
        None.
    check
        Compare one direction with float64 differences and with the backward mode first (a few passes).

    Raises
    ------
    InputError
        Training mode; wrong size or range; an output that does not depend on the input, is cut off from it,
        is not finite or no (1, D) embedding; a derivative that fails its check.

    Source: Paper S, Sec. 4.1, App. F and I.4.
    """
    target = make_target(
        encoder, module=module, token=token, unit=unit, dtype=dtype, chunk=chunk, memory_mb=memory_mb
    )
    linear = target.linearize(image)
    if check:
        self_check(target, linear)
    return estimate(linear, k, method, rounds, oversample, seed)


@dataclass(frozen=True, eq=False)
class JER:
    """Effective rank of an encoder's Jacobian over images."""

    spectra: tuple[SingularValues, ...]
    """One an image."""
    kind: Kind
    tolerance: float | None = None
    stopped: bool = False
    """Whether the standard error fell below the tolerance before the images ran out."""

    @property
    def values(self) -> NDArray[np.float64]:
        """(n,) effective rank of each image."""
        return np.array([effective_rank(s, self.kind) for s in self.spectra])

    @property
    def n(self) -> int:
        """Images used."""
        return len(self.spectra)

    @property
    def mean(self) -> float:
        """Over images: the JER of the encoder."""
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        """Over images, n - 1; NaN for one image."""
        return float(self.values.std(ddof=1)) if self.n > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for one image."""
        return self.sd / self.n**0.5

    @property
    def r_hat(self) -> float:
        """`rank_free_of_k` of the sketches; NaN when the method gives none."""
        sketches = [_sketch_of(s) for s in self.spectra]
        present = [s for s in sketches if s is not None and len(s) > 1]
        if len(present) < self.n:
            return float("nan")
        return rank_free_of_k(
            np.array([effective_rank(s, "pr_variance") for s in present]), self.spectra[0].k
        )

    def table(self) -> pd.DataFrame:
        """One row an image: every kind, for the method's values and for the sketch (``sketch_`` columns)."""
        rows = []
        for index, spectrum in enumerate(self.spectra):
            row: dict[str, float] = {"image": index, "k": spectrum.k, "largest": spectrum.values[0]}
            row |= {kind: effective_rank(spectrum, kind) for kind in KINDS}
            sketch = _sketch_of(spectrum)
            if sketch is not None:
                row |= {f"sketch_{kind}": effective_rank(sketch, kind) for kind in KINDS}
            rows.append(row)
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"JER({self.mean:.2f} +- {self.standard_error:.2f}, {self.kind}, n={self.n})"


def jer(
    encoder: Any,
    images: Iterable[ImageInput],
    *,
    k: int = 32,
    method: Method = "range_finder",
    rounds: int = 5,
    oversample: int = 0,
    kind: Kind = "pr",
    tolerance: float | None = None,
    least: int = 8,
    seed: int = 0,
    check: bool = True,
    progress: bool = True,
    **options: Any,
) -> JER:
    """Jacobian effective rank: `singular_values` of each image, then the mean of `effective_rank`.

    Every image has fresh directions, from (seed, its index), so that the error of the directions averages
    out; encoders with the same input size get the same ones.

    Parameters
    ----------
    images
        As in `singular_values`; a generator is read only as far as needed.
    tolerance, least
        Stop when the standard error of the mean is below ``tolerance``, after at least ``least`` images.
    check
        The self-check, on the first image.
    options
        ``module``, ``token``, ``unit``, ``dtype``, ``chunk``, ``memory_mb`` of `singular_values`.

    Raises InputError as `singular_values`, for an unknown kind, or without images.
    """
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if tolerance is not None and not tolerance > 0:
        raise InputError(f"tolerance must be positive, not {tolerance}")
    target = make_target(encoder, **options)
    spectra: list[SingularValues] = []
    result = JER((), kind, tolerance)
    bar = tqdm(images, desc="JER", unit="image", disable=not progress)
    for index, image in enumerate(bar):
        linear = target.linearize(image)
        if check and index == 0:
            self_check(target, linear)
        spectra.append(estimate(linear, k, method, rounds, oversample, (seed, index)))
        result = JER(tuple(spectra), kind, tolerance)
        bar.set_postfix_str(f"{result.mean:.2f} +- {result.standard_error:.2f}")
        if tolerance is not None and result.n >= max(2, least) and result.standard_error < tolerance:
            bar.close()
            return JER(tuple(spectra), kind, tolerance, stopped=True)
    if not spectra:
        raise InputError("no images: JER is a mean over at least one")
    return result


def noise_images(count: int, size: int, seed: int = 0) -> Iterator[Tensor]:
    """The control of Paper S, App. E.1: standard normal (1, 3, size, size) inputs, already normalised."""
    for index in range(count):
        noise = generator("noise", (seed, index)).standard_normal((1, 3, size, size))
        yield torch.from_numpy(noise).float()


def _sketch_of(spectrum: SingularValues) -> NDArray[np.float64] | None:
    return spectrum.values if spectrum.method == "sketch" else spectrum.sketch
