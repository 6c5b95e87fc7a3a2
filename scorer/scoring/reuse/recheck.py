"""Reused rows scored again: are they what their earlier output says?

A stored probability may differ from this run's by what the bounds on logits explain (:mod:`..tolerance`). If they allow
a logit to move by d, a label may differ only where a check that decides it is within 2d of a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...metric.checks import ALL_FACTS, OMISSION, Checks
from ...metric.rows import Rows
from ...metric.verdict import FINE, near_tie
from ..origin import agree, allowed_difference

_LABELS = ("fine", "rough", "omitted")


@dataclass(frozen=True)
class Disagreement:
    """A reused row whose label is not what it is in this run: its position in the window, its key as hex, and what."""

    row: int
    key: str
    what: str


def compare(
    stored: Mapping[str, Any],
    fresh: Mapping[str, Any],
    near_tie: tuple[bool, bool, bool],
    allowed: float,
) -> str | None:
    """What differs between a row's stored columns and this run's, beyond the bound; ``None`` when nothing does.

    Args:
        near_tie: whether a check could flip within the bound that decides an omitted fact, the omission side as a
            whole, the hallucination side.
        allowed: largest |Δlogit| that measured bounds explain.
    """
    if fresh.get("error") is not None:
        return f"error: {fresh['error']} now"
    for name, old in stored.items():
        new = fresh[name]
        if name not in _LABELS and _differ(old, new, allowed_difference(allowed)):
            return f"{name}: {_shown(old)} stored, {_shown(new)} now"
    fact, omission, hallucination = near_tie
    before, after = FINE.index(stored["fine"]), FINE.index(fresh["fine"])
    omitted = stored["omitted"] != fresh["omitted"]
    excused = (
        (not omitted or fact)
        and (not (before ^ after) & 1 or omission or (omitted and fact))
        and (not (before ^ after) & 2 or hallucination)
        and (stored["rough"] == "OK") == (stored["fine"] == "OK")
    )
    if excused:
        return None
    name = "omitted" if omitted else "fine" if before != after else "rough"
    return f"{name}: {_shown(stored[name])} stored, {_shown(fresh[name])} now"


def disagreements(
    stored: Mapping[str, pa.Array],
    fresh: Mapping[str, pa.Array],
    rows: Rows,
    checks: Checks,
    probabilities: npt.NDArray[np.float32],
    first: int,
    allowed: npt.NDArray[np.float64],
    threshold: float = 0.5,
) -> Iterator[tuple[int, str]]:
    """Compare rows: (position among them, what differs) for each that disagrees.

    Args:
        stored: label columns of the rows. fresh: the same of all judged rows.
        rows, checks, probabilities: what was judged; float32, *Shape:* (checks, 3).
        first: where the rows to compare begin among those judged.
        allowed: float64, *Shape:* (rows to compare,), largest |Δlogit|.
        threshold: of a model without other classes than entailment, what decides.
    """
    for position, bound in enumerate(allowed.tolist()):
        row = first + position
        old = {name: column[position].as_py() for name, column in stored.items()}
        new = {name: fresh[name][row].as_py() for name in stored}
        asked = np.flatnonzero(checks.row == row)
        found = compare(old, new, _near_tie(old, new, rows, row, checks, probabilities, asked, bound, threshold), bound)
        if found is not None:
            yield position, found


def _near_tie(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    rows: Rows,
    row: int,
    checks: Checks,
    probabilities: npt.NDArray[np.float32],
    asked: npt.NDArray[np.int64],
    bound: float,
    threshold: float,
) -> tuple[bool, bool, bool]:
    """See :func:`compare`. A fact counts only where it is omitted in one and not in the other; all of them must."""
    near = near_tie(probabilities[asked], bound, threshold)
    kinds = checks.kind[asked]
    flipped = set(old["omitted"] or []) ^ set(new["omitted"] or [])
    facts = checks.fact[asked] - rows.triples.offsets[row]
    close = set(facts[near & (kinds == OMISSION)].tolist())
    others_near = near & (kinds != OMISSION)
    return (
        (old["omitted"] is None) == (new["omitted"] is None) and flipped <= close,
        bool((near & (kinds == ALL_FACTS)).any()),
        bool((others_near & (kinds != ALL_FACTS)).any()),
    )


def _differ(old: Any, new: Any, allowed: float) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return not agree(old, new, allowed)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) != len(new) or any(_differ(a, b, allowed) for a, b in zip(old, new, strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        # Of two chunks of a document that agree within the bound, either may be the best.
        kept = [key for key in old if not key.startswith("chunk_")]
        return old.keys() != new.keys() or any(_differ(old[key], new[key], allowed) for key in kept)
    return bool(old != new)


def _shown(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
