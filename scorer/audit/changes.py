"""A run compared with its baseline: which rows are the same, and how each rate of each group changed.

**Rows** are matched in parts by their key, which is a hash, so that DuckDB's memory holds what is joined and sorted at
once. Most rows have a partner in the same groups with the same state: two sums find out which keys have others, and
only rows of these keys are matched one by one.

**A rate** is tested once: rows with the same facts in both runs are pairs, the other added and removed rows two
disjoint samples. Where fewer than half as many of these were removed as added, the added ones are compared with all of
the baseline's rows of the group; where fewer than half as many were added, the removed ones with all of this run's. The
interval of a difference takes rows that both runs have as fixed: under equal signatures their labels are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..stats.design_effect import correlation
from ..stats.intervals import Pairs, combined, rate
from ..stats.mantel_haenszel import Sample, Tested, compare
from ..stats.multiple import benjamini_hochberg
from . import queries
from .database import Database, Grouping, parts
from .document import (
    ADDED_RATES,
    RATES,
    AddedRate,
    Change,
    ConfidenceChange,
    GroupComparison,
    GroupFigures,
    PairedRate,
    Rate,
    RateChange,
    Rewritten,
    Test,
)
from .figures import FactTables, RunRates, cluster_sums
from .queries import Confidences
from .scan import FINE_LABEL, FINE_OF, Bools, Counts, ScannedRun

LEVEL = 0.05
BUCKETS = 10
_BLOCK = 1 << 20
_NONE = Sample()

Floats = npt.NDArray[np.floating[Any]]


def match(before: ScannedRun, after: ScannedRun) -> None:
    """Match the rows of two runs, as multisets of keys within each group of each grouping.

    Rows with one key are matched in the order of :data:`_PASSES`. All rows of a key are in a table of their own
    (``was_apart``, ``now_apart``) unless both runs have equally many of them in each group and state. It has the
    columns ``partner``, the row of the other run (in the grouping of all rows), and ``other0``, ``other1``, ... by
    grouping: the state of the row of the other run, null where it has none.

    Of what is left, rows with equal facts in equal groups are paired in their order, in a table ``rewritten``.
    """
    database = after.database
    groups = [database.column(one) for one in database.groups]
    _store_files(before, after)
    for place, where in enumerate(parts("high", max(len(before), len(after)))):
        _match_part(database, groups, where, first=place == 0)
    left = max(
        database.rows(f"SELECT count(*) FROM {table}_apart WHERE partner IS NULL")[0][0] for table in ("was", "now")
    )
    for place, where in enumerate(parts("input", left)):
        _pair_part(database, groups, where, first=place == 0)


_PASSES = ("{groups}, label", "file, position, label", "label", "{groups}", "file, position", "row_key")
"""What rows with one key agree in, pass by pass: those of the same system are one row first, then those at the same
place of a file of the same name, with equal labels before others, so that few count as changed; then any."""


def _store_files(before: ScannedRun, after: ScannedRun) -> None:
    """The first row of each file of both runs, with a number for its name."""
    names: dict[str, int] = {}
    for side, run in (("was", before), ("now", after)):
        starts = zip(run.output.files, run.output.starts.tolist(), strict=False)
        values = ", ".join(f"({start}, {names.setdefault(file.relative, len(names))})" for file, start in starts)
        run.database.run(f"CREATE TEMP TABLE {side}_files (start BIGINT, file INTEGER)")
        if values:
            run.database.run(f"INSERT INTO {side}_files VALUES {values}")


def _match_part(database: Database, groups: list[str], where: str, *, first: bool) -> None:
    """Fill the tables of rows apart from the keys of one part."""
    narrow = ", ".join(["high", "low", "state", *groups])
    database.run(
        "CREATE OR REPLACE TEMP TABLE moved AS SELECT high, low FROM ("
        f"SELECT {narrow}, 1 AS rows FROM was WHERE {where} UNION ALL "
        f"SELECT {narrow}, -1 AS rows FROM now WHERE {where}"
        f") GROUP BY {narrow} HAVING sum(rows) <> 0"
    )
    for side in ("was", "now"):
        database.run(
            f"CREATE OR REPLACE TEMP TABLE {side}_moved AS FROM {side} SEMI JOIN moved USING (high, low) WHERE {where}"
        )
    for side, other in (("was", "now"), ("now", "was")):
        database.run(
            f"CREATE OR REPLACE TEMP TABLE {side}_shared AS SELECT ours.*, row - start AS position, file, "
            f"{FINE_LABEL.format('state')} AS label, {{'high': high, 'low': low}} AS row_key "
            f"FROM (FROM {side}_moved SEMI JOIN {other}_moved USING (high, low)) AS ours "
            f"ASOF JOIN {side}_files ON row >= start"
        )
    for group in groups:
        _match_group(database, group, groups)
    for side, other in (("was", "now"), ("now", "was")):
        states = ", ".join(f"match_{group}.{other}_state AS other{group[1:]}" for group in groups)
        joins = " ".join(f"LEFT JOIN match_{group} ON ours.row = match_{group}.{side}_row" for group in groups)
        database.run(
            f"{f'CREATE TEMP TABLE {side}_apart AS' if first else f'INSERT INTO {side}_apart'} "
            f"SELECT ours.*, match_g0.{other}_row AS partner, {states} FROM {side}_moved AS ours {joins}"
        )


def _match_group(database: Database, group: str, groups: list[str]) -> None:
    """Match the rows of a part within each group of one grouping."""
    table = f"match_{group}"
    columns = "was_row BIGINT, was_state UTINYINT, now_row BIGINT, now_state UTINYINT"
    database.run(f"CREATE OR REPLACE TEMP TABLE {table} ({columns})")
    for agree in _PASSES:
        same = ", ".join(dict.fromkeys([group, "high", "low", *agree.format(groups=", ".join(groups)).split(", ")]))
        left = (
            f"(SELECT row, state, {same}, row_number() OVER (PARTITION BY {same} ORDER BY row) AS place "
            f"FROM {{0}}_shared ANTI JOIN {table} ON {{0}}_shared.row = {table}.{{0}}_row) AS {{0}}"
        )
        database.run(
            f"INSERT INTO {table} SELECT was.row, was.state, now.row, now.state "
            f"FROM {left.format('was')} JOIN {left.format('now')} USING ({same}, place)"
        )


def _pair_part(database: Database, groups: list[str], where: str, *, first: bool) -> None:
    """Pair the rows without a partner of the inputs of one part."""
    same, others = ", ".join(["input", *groups]), ", ".join(f"other{group[1:]}" for group in groups)
    for side, more in (("was", ""), ("now", f", confidence, {others}")):
        database.run(
            f"CREATE OR REPLACE TEMP TABLE {side}_left AS SELECT row, state, {same}{more}, "
            f"row_number() OVER (PARTITION BY {same} ORDER BY row) AS place "
            f"FROM {side}_apart WHERE partner IS NULL AND {where}"
        )
    database.run(
        f"{'CREATE TEMP TABLE rewritten AS' if first else 'INSERT INTO rewritten'} "
        "SELECT now_left.*, was_left.row AS before_row, was_left.state AS before_state "
        f"FROM now_left JOIN was_left USING ({same}, place)"
    )


def add_changes(
    before: RunRates, after: RunRates, grouping: Grouping, confidences: Confidences, groups: list[GroupFigures]
) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`correct`.

    Args:
        confidences: of all rows of this run, by its groups.
    """
    _Comparison(before, after, grouping, confidences).fill(groups)


def correct(groups: list[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and say which are significant."""
    rates = [one for group in groups if group.change is not None for one in group.change.rates.values()]
    tests = [one.test for one in rates if one.test is not None]
    for one, q in zip(tests, benjamini_hochberg([one.p for one in tests]).tolist(), strict=True):
        one.q = q
        one.significant = q < LEVEL


class _Comparison:
    """The state of comparing one grouping."""

    def __init__(self, before: RunRates, after: RunRates, grouping: Grouping, confidences: Confidences) -> None:
        was, now = before.run, after.run
        self.kept, self.rewritten = queries.kept(now, grouping), queries.rewritten(now, grouping)
        self.rows_added, self.rows_removed = queries.added(now, grouping), queries.added(was, grouping)
        self.masks = before.masks, after.masks
        self.rewritten_sums = cluster_sums(queries.clusters_of_pairs(now, grouping, *self.masks))
        self.all = [run.samples(grouping) for run in (before, after)]
        self.moved = [run.samples(grouping, "moved") for run in (before, after)]
        self.single = [run.samples(grouping, "single") for run in (before, after)]
        self.rows_before = queries.states(was, grouping).sum(axis=1)
        self.confidences = queries.confidences(was, grouping), confidences
        self.facts_before = FactTables(was, grouping)

    def fill(self, groups: list[GroupFigures]) -> None:
        """Set ``change`` of each group."""
        label = FINE_OF[:, None], FINE_OF[None, :]
        flipped = (label[0] != label[1]) & (label[0] >= 0) & (label[1] >= 0)
        for code, group in enumerate(groups):
            kept = self.kept[code]
            for one in group.predicates:
                one.before = self.facts_before.omission(code, one.predicate)
            counts = {name: self._counts(name, code) for name in RATES}
            group.change = Change(
                rows_before=int(self.rows_before[code]),
                added=int(self.rows_added[code].sum()),
                removed=int(self.rows_removed[code].sum()),
                kept=int(kept.sum()),
                rewritten=int(self.rewritten[code].sum()),
                flips=int(kept[flipped].sum()),
                backoff_before=self.facts_before.missed(code),
                rates={name: rate_change(one) for name, one in counts.items()},
                added_rates={name: added_rate(counts[name.removeprefix("added_")]) for name in ADDED_RATES},
                confidence=ConfidenceChange(
                    before=self.confidences[0].distribution(code),
                    psi=stability_index(*(one[code] for one in self.confidences)),
                ),
            )

    def _counts(self, name: str, code: int) -> RateCounts:
        pairs, sums = self._pairs(name, self.rewritten[code]), self.rewritten_sums[name][code]
        within = correlation(sums, pairs.gained + pairs.lost) or 0.0
        return RateCounts(
            before=self.all[0][code][name],
            after=self.all[1][code][name],
            removed=self.moved[0][code][name],
            added=self.moved[1][code][name],
            gone=self.single[0][code][name],
            fresh=self.single[1][code][name],
            pairs=replace(pairs, effect=sums.effect(within)),
            kept=self._pairs(name, self.kept[code]),
        )

    def _pairs(self, name: str, pairs: Counts) -> Pairs:
        return _as_pairs(pairs, *(masks[name] for masks in self.masks))


def _as_pairs(counts: Counts, before: tuple[Bools, Bools], now: tuple[Bools, Bools]) -> Pairs:
    """Pairs by their states, as a rate sees them: the states that count for it, and the hits. *Shape:* (STATES, STATES)
    and (STATES,)."""
    (counted0, hit0), (counted1, hit1) = before, now
    both, lost, gained, neither = (
        int(counts[np.ix_(one, other)].sum()) for one in (hit0, counted0 & ~hit0) for other in (hit1, counted1 & ~hit1)
    )
    return Pairs(both, gained, lost, neither)


def compare_groups(rates: RunRates, grouping: Grouping, first: int, second: int) -> GroupComparison | None:
    """Two groups of a run compared over the inputs that both have a text for; ``None`` where they share none.

    Args:
        first, second: codes of the groups.
    """
    groups = rates.run.database.groups[grouping].groups()
    counts = queries.paired(rates.run, grouping, second, first)  # pairs have the later half first
    found = {}
    for name in RATES:
        pairs = _as_pairs(counts, rates.masks[name], rates.masks[name])
        if not pairs.n:
            continue
        one, other = rate(pairs.both + pairs.gained, pairs.n), rate(pairs.both + pairs.lost, pairs.n)
        difference = (pairs.gained - pairs.lost) / pairs.n
        low, high = combined(difference, [], pairs)
        tested = compare(pairs, _NONE, _NONE)
        found[name] = PairedRate(
            first=one, second=other, difference=difference, low=low, high=high, p=tested.p if tested else 1.0
        )
    total = int(counts.sum())
    return GroupComparison(first=groups[first], second=groups[second], pairs=total, rates=found) if total else None


@dataclass(frozen=True)
class RateCounts:
    """Rows that count for a rate, and hits. ``before``, ``after``: of all rows; ``added``, ``removed``: of those that
    are in one run only, and ``fresh``, ``gone``: of these, without the ``pairs`` of rewritten rows. ``kept``: rows in
    both runs."""

    before: Sample
    after: Sample
    added: Sample = _NONE
    removed: Sample = _NONE
    fresh: Sample = _NONE
    gone: Sample = _NONE
    pairs: Pairs = field(default_factory=Pairs)
    kept: Pairs = field(default_factory=Pairs)


def rate_change(counts: RateCounts) -> RateChange:
    """A rate in both runs, with the interval of the difference and tests."""
    before, after = _rate(counts.before), _rate(counts.after)
    kept, pairs = counts.kept, counts.pairs
    change = RateChange(
        before=before,
        after=after,
        difference=None,
        low=None,
        high=None,
        rewritten=Rewritten(n=pairs.n, worse=pairs.gained, better=pairs.lost, correlation=pairs.correlation),
        test=None,
    )
    now, then = _samples(counts)
    changed = kept if kept.gained + kept.lost else Pairs()  # only where the scoring did
    both = replace(pairs, gained=pairs.gained + changed.gained, lost=pairs.lost + changed.lost,
                   both=pairs.both + changed.both, neither=pairs.neither + changed.neither)  # fmt: skip
    if tested := compare(both, now, then):
        n0, n1 = then.n + both.n, now.n + both.n
        change.test = Test(n_before=n0, n_after=n1, statistic=tested.z, p=tested.p, q=tested.p, significant=False)
    if before.value is not None and after.value is not None:
        n0, n1 = counts.before.n, counts.after.n
        difference = change.difference = after.value - before.value
        moved = kept.gained + kept.lost - (kept.gained - kept.lost) ** 2 / max(kept.n, 1)
        change.low, change.high = combined(
            difference,
            [(counts.fresh.n / n1, _rate(counts.fresh)), (-counts.gone.n / n0, _rate(counts.gone))],
            pairs,
            (pairs.n / n1, pairs.n / n0),
            moved / (n0 * n1),
        )
    return change


def added_rate(counts: RateCounts) -> AddedRate:
    """The added rows compared with the removed ones and with the baseline's, and whether they are worse."""
    added, removed, baseline = _rate(counts.added), _rate(counts.removed), _rate(counts.before)
    fresh, gone, pairs = counts.fresh, counts.gone, counts.pairs
    found = AddedRate(
        added=added, removed=removed, baseline=baseline, low=None, high=None, p_removed=None, p_baseline=None
    )
    if added.value is not None and removed.value is not None:
        then = counts.before if 2 * gone.n < fresh.n else gone
        found.p_removed = _chance(compare(pairs, fresh, then))
        n0, n1 = counts.removed.n, counts.added.n
        samples = [(fresh.n / n1, _rate(fresh)), (-gone.n / n0, _rate(gone))]
        weights = pairs.n / n1, pairs.n / n0
        found.low, found.high = combined(added.value - removed.value, samples, pairs, weights)
    if added.value is not None and baseline.value is not None:
        found.p_baseline = _chance(compare(Pairs(), counts.added, counts.before))
    return found


def _samples(counts: RateCounts) -> tuple[Sample, Sample]:
    fresh, gone = counts.fresh, counts.gone
    if 2 * gone.n < fresh.n:
        return fresh, counts.before
    return (counts.after, gone) if 2 * fresh.n < gone.n else (fresh, gone)


def _rate(sample: Sample) -> Rate:
    return rate(sample.count, sample.n, sample.effect)


def _chance(tested: Tested | None) -> float | None:
    return tested.p_rise if tested is not None else None


def stability_index(before: Floats, after: Floats) -> float | None:
    """Population stability index: Σ (a - b) · ln(a / b) over buckets that hold a tenth of ``before`` each.

    Half a row is added to each bucket, so that an empty one does not make it infinite; buckets that ties make equal
    are one. Null when a side is empty. By custom, below 0.1 is not a shift and above 0.25 a large one.
    """
    if not len(before) or not len(after):
        return None
    before, after = _rising(before), _rising(after)
    places = np.ceil(len(before) * (np.arange(1, BUCKETS) / BUCKETS) - 1).astype(np.int64)
    cuts = np.unique(before[np.maximum(places, 0)])
    sides = []
    for values in (before, after):
        upto = np.searchsorted(values, cuts, "right")
        counts = np.diff(upto, prepend=0, append=len(values)) + 0.5
        sides.append(counts / counts.sum())
    b, a = sides
    return float(((a - b) * np.log(a / b)).sum())


def _rising(values: Floats) -> Floats:
    """Values in rising order; those that are so already are not copied, since they may be all rows of a run."""
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return values if all((block[1:] >= block[:-1]).all() for block in blocks) else np.sort(values)
