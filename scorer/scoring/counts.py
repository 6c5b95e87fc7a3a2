"""Counts of a run: of a window, summed over a shard, summed over all. The shape of ``_run.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..inference.engine import Work
from ..metric.checks import Checks
from ..metric.rows import Rows
from ..metric.verdict import FINE, Verdicts

MOST_PREDICATES = 1000
"""``by_predicate`` keeps this many; the rest is summed under :data:`OTHER_PREDICATES`."""
OTHER_PREDICATES = "(other predicates)"

Counts = dict[str, Any]


@dataclass(frozen=True)
class ReusedCounts:
    """What a window has besides the rows that are judged: labels from earlier outputs.

    ``rows``: the whole window. ``backoff``: bool, *Shape:* (its distinct triples,). ``scored``: how many of the judged
    rows, from the first on, have no label yet; the others are judged to compare them. ``fine``: int8, *Shape:*
    (reused rows,), positions in ``FINE``. ``notes``: of the reused rows, by kind.
    """

    rows: Rows
    backoff: npt.NDArray[np.bool_]
    scored: int
    fine: npt.NDArray[np.int8]
    notes: Mapping[str, int]


def count(rows: Rows, checks: Checks, work: Work, verdicts: Verdicts, reused: ReusedCounts | None = None) -> Counts:
    """Count a window, of which ``rows`` were judged. The checks are those that were asked, for whatever reason."""
    scored = len(rows) if reused is None else reused.scored
    errors = Counter(error.partition(":")[0] for row, error in verdicts.errors.items() if row < scored)
    notes = Counter(note for row, note in verdicts.notes.items() if row < scored)
    fine = Counter(code for code in verdicts.fine[:scored].tolist() if code >= 0)
    if reused is not None:
        fine.update(reused.fine.tolist())
        notes.update(reused.notes)
    return {
        "rows": {
            "in": len(rows if reused is None else reused.rows),
            "scored": scored - sum(errors.values()),
            "reused": 0 if reused is None else len(reused.fine),
            "errors": dict(errors),
            "notes": dict(notes),
        },
        "labels": {name: fine[code] for code, name in enumerate(FINE)},
        "facts": _facts(rows, checks.backoff) if reused is None else _facts(reused.rows, reused.backoff),
        "checks": {
            "all": len(checks),
            "unique": len(work.pairs),
            "computed": sum(len(b.pairs) for b in work.batches),
            "recomputed": work.recomputed,
        },
        "tokens": {"real": work.real_tokens, "padded": work.padded_tokens, "squared": work.squared_lengths},
    }


def add(one: Mapping[str, Any], other: Mapping[str, Any]) -> Counts:
    """Sum two tallies, key by key and level by level."""
    result: Counts = dict(one)
    for key, value in other.items():
        if isinstance(value, Mapping):
            result[key] = add(result.get(key, {}), value)
        else:
            result[key] = result.get(key, 0) + value
    return result


def total(tallies: Sequence[Mapping[str, Any]]) -> Counts:
    """Sum tallies; every key of the contract is there even when there are none."""
    result: Counts = {
        "rows": {"in": 0, "scored": 0, "reused": 0, "errors": {}, "notes": {}},
        "labels": dict.fromkeys(FINE, 0),
        "facts": {"template": 0, "backoff": 0, "by_predicate": {}},
        "checks": {"all": 0, "unique": 0, "computed": 0, "recomputed": 0},
        "tokens": {"real": 0, "padded": 0, "squared": 0},
    }
    for one in tallies:
        result = add(result, one)
    result["facts"]["by_predicate"] = _most(result["facts"]["by_predicate"])
    return result


def error_rate(counts: Counts) -> float:
    """Share of rows that have an error instead of a label."""
    rows = counts["rows"]
    return float(sum(rows["errors"].values()) / rows["in"]) if rows["in"] else 0.0


def _facts(rows: Rows, missing: npt.NDArray[np.bool_]) -> Counts:
    triples = rows.triples
    counts = np.bincount(triples.ids, minlength=len(triples.distinct))
    backoff = int(counts[missing].sum())
    by_predicate: dict[str, Counts] = {}
    for triple, count, missed in zip(triples.distinct, counts.tolist(), missing.tolist(), strict=True):
        entry = by_predicate.setdefault(triple.predicate, {"template": 0, "backoff": 0})
        entry["backoff" if missed else "template"] += count
    return {"template": int(counts.sum()) - backoff, "backoff": backoff, "by_predicate": _most(by_predicate)}


def _most(by_predicate: dict[str, Counts]) -> dict[str, Counts]:
    if len(by_predicate) <= MOST_PREDICATES:
        return by_predicate
    ranked = sorted(by_predicate, key=lambda p: (p == OTHER_PREDICATES, -sum(by_predicate[p].values()), p))
    kept = {predicate: by_predicate[predicate] for predicate in ranked[: MOST_PREDICATES - 1]}
    kept[OTHER_PREDICATES] = {"template": 0, "backoff": 0}
    for predicate in ranked[MOST_PREDICATES - 1 :]:
        kept[OTHER_PREDICATES] = add(kept[OTHER_PREDICATES], by_predicate[predicate])
    return kept
