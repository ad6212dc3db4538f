"""What a record says about its claim; computed from the rule, never typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from bindery.ledger.claims import NULL_HALF_WIDTH, Claim, Comparable, Interval
from bindery.ledger.records import Measured, Record

Verdict = Literal[
    "supports", "contradicts", "inconclusive", "reproduced", "differs", "not comparable", "mixed", "not run"
]
VERDICTS: tuple[Verdict, ...] = (
    "supports", "reproduced", "mixed", "inconclusive", "not comparable", "differs", "contradicts", "not run",
)  # fmt: skip
Class = Literal["replication", "analogue", "own question"]
# One set of weights may be loaded under two names; the claims use the card's.
SAME_WEIGHTS = {
    "open_clip:RN50/openai": "clip-rn50",
    "open_clip:RN50-quickgelu/openai": "clip-rn50",
    "open_clip:ViT-L-14/openai": "clip-vit-l14",
    "open_clip:ViT-L-14-quickgelu/openai": "clip-vit-l14",
    "open_clip:ViT-SO400M-14-SigLIP/webli": "siglip-so400m14",
}


def verdict(claim: Claim, value: float, ci: Interval | None) -> Verdict:
    """The verdict on ``claim`` of a measured ``value`` with its 95 % interval.

    order : *supports* when the whole interval lies on the claimed side of the threshold, *contradicts*
        when it lies on the other, else *inconclusive*.
    null : *supports* when the interval lies within ±.3, *contradicts* when it excludes 0, else
        *inconclusive*. A narrow interval that does both supports: small is what was claimed.
    value : *reproduced* when the published value lies in the interval, or within the stated tolerance
        of the measured one; else *differs*.

    Without an interval nothing is on a side: *inconclusive*; and a value with neither interval nor
    tolerance is *not comparable*. A quantity without sampling error has the interval (value, value).
    """
    if claim.kind == "value":
        return _value_verdict(claim, value, ci)
    if ci is None:
        return "inconclusive"
    return _null_verdict(ci) if claim.kind == "null" else _order_verdict(claim, ci)


def _order_verdict(claim: Claim, ci: Interval) -> Verdict:
    low, high = ci
    above, below = low > claim.rule.threshold, high < claim.rule.threshold
    if claim.rule.direction == "below":
        above, below = below, above
    return "supports" if above else "contradicts" if below else "inconclusive"


def _null_verdict(ci: Interval) -> Verdict:
    low, high = ci
    if low >= -NULL_HALF_WIDTH and high <= NULL_HALF_WIDTH:
        return "supports"
    return "contradicts" if low > 0 or high < 0 else "inconclusive"


def _value_verdict(claim: Claim, value: float, ci: Interval | None) -> Verdict:
    published, tolerance = claim.reported.value, claim.rule.tolerance
    assert published is not None  # the model requires it of kind value
    if ci is None and tolerance is None:
        return "not comparable"
    inside = ci is not None and ci[0] <= published <= ci[1]
    near = tolerance is not None and abs(value - published) <= tolerance * (1 + 1e-9)
    return "reproduced" if inside or near else "differs"


def why(claim: Claim, ci: Interval | None) -> str:
    """The rule of the verdict in one phrase, with what was missing."""
    rule = claim.rule
    if claim.kind == "order":
        text = f"95 % interval {rule.direction} {rule.threshold:g}"
    elif claim.kind == "null":
        text = f"95 % interval within ±{NULL_HALF_WIDTH:g}"
    else:
        near = f", or within {rule.tolerance:g} of it" if rule.tolerance is not None else ""
        text = f"{claim.reported.value:g} in the 95 % interval{near}"
    return text if ci is not None else f"{text}; no interval was recorded"


def class_of(comparable: Comparable, measured: Measured) -> Class:
    """*replication* when every encoder and every data set of the run is one the paper used; else *analogue*.

    A trial run (smoke, rehearsal) is never a replication, and neither is one of which the paper does
    not publish encoders or data.
    """
    same = _within(measured.encoders, comparable.encoders) and _within(measured.data, comparable.data)
    return "replication" if same and not measured.trial else "analogue"


def class_of_record(claim: Claim, measured: Measured) -> Class:
    """`class_of` for a record of ``claim``; what no paper asked is an *own question* and neither of the two."""
    return "own question" if claim.paper == "B" else class_of(claim.comparable, measured)


def _within(used: Iterable[str], published: Iterable[str]) -> bool:
    used = {SAME_WEIGHTS.get(name, name) for name in used}
    return bool(used) and used <= set(published)


def told(verdict: Verdict, trial: bool, profile: str = "smoke") -> str:
    """A verdict as shown: one from a trial run says so in the same breath."""
    return f"{verdict} ({profile})" if trial else verdict


def overall(claim: Claim, records: Iterable[Record]) -> Verdict:
    """One verdict for a claim with any number of records.

    Headline records count, replications before analogues, full runs before trials; when what is left
    disagrees the verdict is *mixed*.
    """
    counted = [record for record in records if record.headline]
    for better in (lambda r: not r.trial, lambda r: class_of(claim.comparable, r) == "replication"):
        counted = [record for record in counted if better(record)] or counted
    verdicts = {verdict(claim, record.value, record.ci) for record in counted}
    if not verdicts:
        return "not run"
    return verdicts.pop() if len(verdicts) == 1 else "mixed"
