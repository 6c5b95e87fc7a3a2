"""The figures of every group of a run, from the columns that the scan kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE
from ..stats.intervals import rate
from .document import BINS, RATES, ByFacts, ByLength, Confidence, Duplicates, GroupFigures, Predicate, Rate
from .grouping import GroupCodes, Grouping
from .matching import Ints, repeats
from .scan import ScannedRun, counted_kinds

QUANTILES = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
FACT_CLASSES = (*((n, n) for n in range(1, 10)), (10, None))
LENGTH_CLASSES = ((0, 49), (50, 99), (100, 149), (150, 199), (200, 299), (300, 499), (500, 999), (1000, None))
MOST_PREDICATES = 200
MOST_PREDICATES_OF_GROUP = 20
Policy = Literal["not-ok", "excluded"]
Bools = npt.NDArray[np.bool_]


def rate_masks(run: ScannedRun, errors: Policy) -> dict[str, tuple[Bools, Bools]]:
    """Which rows count for each of :data:`RATES`, and which of them are hits. bool, *Shape:* (rows,) each.

    No row counts for omissions where the run did not look for them.
    """
    labelled = run.fine >= 0
    every = np.ones(len(run), bool)
    counted = every if errors == "not-ok" else labelled
    looked = run.omissions_checked
    return {
        "not_ok_rate": (counted, (run.fine != 0) & counted),
        "omission_rate": (counted & looked, labelled & ((run.fine & 1) == 1) & looked),
        "hallucination_rate": (counted, labelled & ((run.fine & 2) == 2)),
        "error_rate": (every, ~labelled),
        "empty_rate": (every, run.empty),
    }


def confidence_of(values: npt.NDArray[np.float32]) -> Confidence:
    """The distribution of confidences, NaN left out."""
    values = values[~np.isnan(values)]
    n = len(values)
    cuts = np.quantile(values.astype(np.float64), QUANTILES).tolist() if n else [None] * len(QUANTILES)
    return Confidence(
        n=n,
        mean=float(values.mean(dtype=np.float64)) if n else None,
        quantiles={f"{q:.2f}": cut for q, cut in zip(QUANTILES, cuts, strict=True)},
        histogram=np.histogram(values, BINS, (0.0, 1.0))[0].tolist(),
    )


@dataclass(frozen=True)
class Slices:
    """Rows sorted by group, so that a group is a slice. ``order``: row numbers; ``ends``: *Shape:* (groups + 1,)."""

    order: Ints
    ends: Ints

    @classmethod
    def of(cls, groups: Ints, count: int) -> Slices:
        """Of the codes of all rows."""
        # Small integers sort by radix, in linear time.
        order = np.argsort(groups.astype(np.uint16), kind="stable")
        return cls(order, np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))]))

    def __getitem__(self, group: int) -> Ints:
        return self.order[self.ends[group] : self.ends[group + 1]]


@dataclass(frozen=True)
class Context:
    """What the figures of all groups share. ``ids``: of each row's key. ``backoff``: share of a predicate's facts
    without a template, ``None`` where not known. ``before``: omission rate of a predicate in the baseline."""

    run: ScannedRun
    errors: Policy
    ids: Ints
    backoff: Callable[[str], float | None]
    before: Callable[[str], float | None]


def group_figures(context: Context, grouping: Grouping, codes: GroupCodes) -> list[GroupFigures]:
    """The figures of one grouping's groups, by code. ``change`` is left null, and no predicate is marked."""
    run, count = context.run, len(codes)
    groups = run.groups[grouping]
    slices = Slices.of(groups, count)
    masks = rate_masks(run, context.errors)
    distinct, most = repeats(context.ids, groups, count)
    facts = FactTables(run, grouping, count, context.backoff)
    found = []
    before = context.before if not grouping else lambda predicate: None
    for code, group in enumerate(codes.groups()):
        rows = slices[code]
        labels, labelled = run.fine[rows], int((run.fine[rows] >= 0).sum())
        by_label = np.bincount(labels[labels >= 0], minlength=len(FINE)).tolist()
        reused = int((run.reused[rows] & (labels >= 0)).sum())
        rates = {name: _rate(masks[name], rows) for name in RATES}
        predicates = facts.predicates(code, MOST_PREDICATES_OF_GROUP if grouping else MOST_PREDICATES, before)
        found.append(
            GroupFigures(
                group=group,
                grouping=list(grouping),
                rows=len(rows),
                scored=labelled - reused,
                reused=reused,
                fine=dict(zip(FINE, by_label, strict=True)),
                rough={"OK": by_label[0], "not_OK": labelled - by_label[0]},
                errors=counted_kinds(run.error[rows], run.errors.names),
                notes=counted_kinds(run.note[rows], run.notes.names),
                rates=rates,
                labels={name: rate(n, rates["not_ok_rate"]["n"]) for name, n in zip(FINE, by_label, strict=True)},
                backoff=facts.missed(code),
                confidence=confidence_of(run.confidence[rows]),
                predicates=predicates[0],
                predicates_left_out=predicates[1],
                by_facts=_by_facts(run, rows),
                by_length=_by_length(run, rows) if run.has_text else [],
                duplicates=Duplicates(
                    rows=len(rows),
                    distinct=int(distinct[code]),
                    repeated=len(rows) - int(distinct[code]),
                    most=int(most[code]),
                ),
                change=None,
            )
        )
    return found


def _rate(masks: tuple[Bools, Bools], rows: Ints) -> Rate:
    counted, hits = masks
    return rate(int(hits[rows].sum()), int(counted[rows].sum()))


class FactTables:
    """Facts by group and predicate, and how they are shown. ``share``: of a predicate's facts, without a template."""

    def __init__(self, run: ScannedRun, grouping: Grouping, count: int, share: Callable[[str], float | None]) -> None:
        self.names = run.predicates.names
        counts = run.fact_counts[grouping]
        shape = count, len(self.names)
        self.all, self.checked, self.omitted = (counts.table(w, *shape) for w in ("all", "checked", "omitted"))
        self.shares = [share(name) for name in self.names]
        self.known = run.has_facts and None not in self.shares
        self.weights = np.array([one or 0.0 for one in self.shares])

    def missed(self, group: int) -> Rate | None:
        """Facts of a group without a template; ``None`` where the run did not count them by predicate."""
        if not self.known:
            return None
        facts = self.all[group]
        return rate(round(float((facts * self.weights).sum())), int(facts.sum()))

    def predicates(self, group: int, most: int, before: Callable[[str], float | None]) -> tuple[list[Predicate], int]:
        """The predicates of a group by falling omission rate, and how many more there are."""
        checked, omitted = self.checked[group], self.omitted[group]
        there = np.flatnonzero(checked)
        ranked = sorted(there.tolist(), key=lambda p: (-omitted[p] / checked[p], -checked[p], self.names[p]))
        found = [
            Predicate(
                predicate=self.names[p],
                omission=rate(omitted[p], checked[p]),
                backoff=self.shares[p],
                before=before(self.names[p]),
                suspect=False,
            )
            for p in ranked[:most]
        ]
        return found, len(ranked) - len(found)


def _sides(run: ScannedRun, rows: Ints) -> tuple[int, Rate, Rate]:
    labels = run.fine[rows]
    labels = labels[labels >= 0]
    n = len(labels)
    omission = rate(int((labels & 1).sum()), n) if run.omissions_checked else rate(0, 0)
    return n, omission, rate(int((labels & 2).sum()) // 2, n)


def _classes(values: npt.NDArray[np.int32], rows: Ints, classes: Any) -> list[tuple[int, int | None, Ints]]:
    place = np.searchsorted([least for least, _ in classes], values[rows], side="right") - 1
    found = []
    for number, (least, most) in enumerate(classes):
        chosen = rows[place == number]
        if len(chosen):
            found.append((least, most, chosen))
    return found


def _by_facts(run: ScannedRun, rows: Ints) -> list[ByFacts]:
    found = []
    for least, most, chosen in _classes(run.facts, rows, FACT_CLASSES):
        n, omission, hallucination = _sides(run, chosen)
        found.append(ByFacts(least=least, most=most, rows=n, omission=omission, hallucination=hallucination))
    return [one for one in found if one["rows"]]


def _by_length(run: ScannedRun, rows: Ints) -> list[ByLength]:
    found = []
    for least, most, chosen in _classes(run.length, rows, LENGTH_CLASSES):
        n, omission, hallucination = _sides(run, chosen)
        found.append(ByLength(least=least, most=most, rows=n, omission=omission, hallucination=hallucination))
    return [one for one in found if one["rows"]]
