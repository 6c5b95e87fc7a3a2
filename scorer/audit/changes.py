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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..stats.intervals import Pairs, Sample, combined, correlation, interval_of_difference, rate
from ..stats.significance import benjamini_hochberg, compare
from . import queries
from .database import Database, Grouping, Ints, parts
from .document import (
    ADDED_RATES,
    RATES,
    AddedRate,
    Change,
    ConfidenceChange,
    GroupComparison,
    GroupFigures,
    PairedRate,
    RateChange,
    Test,
)
from .figures import FactTables, RunRates
from .scan import FINE_LABEL, FINE_OF, Bools, ScannedRun

LEVEL = 0.05

_PASSES = ("{groups}, label", "{groups}", "file, position, label", "file, position", "label", "row_key")
"""Columns in which rows with one key agree, pass by pass: those of the same groups are one row first, then those at the
same place of a file of the same name, then any; with equal labels before others, so that few count as changed."""


def match(before: ScannedRun, after: ScannedRun) -> None:
    """Match the rows of two runs, as multisets of keys.

    Rows with one key are matched in the order of :data:`_PASSES`. All rows of a key are in a table of their own
    (``was_apart``, ``now_apart``) unless both runs have equally many of them in each group and state. It has the
    columns ``partner``, the row of the other run, and that row's ``other_state`` and groups ``other_g0``, ...; all null
    where it has none. Within a grouping, a row whose partner is in another group counts as added or removed.

    Of the rows without a partner, those with equal facts in equal groups are paired in their order, in ``rewritten``.
    """
    database = after.database
    groups = [database.column(one) for one in database.groups]
    names: dict[str, int] = {}
    for side, run in (("was", before), ("now", after)):
        database.run(f"CREATE TEMP TABLE {side}_files (start BIGINT, file INTEGER)")
        starts = zip(run.output.files, run.output.starts.tolist(), strict=False)
        values = [f"({start}, {names.setdefault(file.relative, len(names))})" for file, start in starts]
        database.run(f"INSERT INTO {side}_files VALUES {', '.join(values)}" if values else "SELECT 1")
    for place, where in enumerate(parts("high", max(len(before), len(after)))):
        _match_part(database, groups, where, "INSERT INTO {}" if place else "CREATE TEMP TABLE {} AS")
    left = max(
        database.rows(f"SELECT count(*) FROM {table}_apart WHERE partner IS NULL")[0][0] for table in ("was", "now")
    )
    for place, where in enumerate(parts("input", left)):
        _pair_part(database, groups, where, "INSERT INTO {}" if place else "CREATE TEMP TABLE {} AS")


def _match_part(database: Database, groups: list[str], where: str, store: str) -> None:
    """Fill the tables of rows apart from the keys of one part, by statements that begin with ``store``."""
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
    database.run("CREATE OR REPLACE TEMP TABLE matched (was_row BIGINT, now_row BIGINT)")
    for agree in _PASSES:
        same = ", ".join(dict.fromkeys(["high", "low", *agree.format(groups=", ".join(groups)).split(", ")]))
        left = (
            f"(SELECT row, {same}, row_number() OVER (PARTITION BY {same} ORDER BY row) AS place "
            f"FROM {{0}}_shared ANTI JOIN matched ON {{0}}_shared.row = matched.{{0}}_row) AS {{0}}"
        )
        sides = f"{left.format('was')} JOIN {left.format('now')} USING ({same}, place)"
        database.run(f"INSERT INTO matched SELECT was.row, now.row FROM {sides}")
    for side, other in (("was", "now"), ("now", "was")):
        theirs = ", ".join(f"theirs.{name} AS other_{name}" for name in ("state", *groups))
        database.run(
            f"{store.format(f'{side}_apart')} SELECT ours.*, theirs.row AS partner, {theirs} FROM {side}_moved AS ours "
            f"LEFT JOIN matched ON ours.row = {side}_row LEFT JOIN {other}_moved AS theirs ON theirs.row = {other}_row"
        )


def _pair_part(database: Database, groups: list[str], where: str, store: str) -> None:
    """Pair the rows without a partner of the inputs of one part."""
    same = ", ".join(["input", *groups])
    left = (
        f"(SELECT row, state, confidence, {same}, row_number() OVER (PARTITION BY {same} ORDER BY row) AS place "
        f"FROM {{0}}_apart WHERE partner IS NULL AND {where}) AS {{0}}"
    )
    database.run(
        f"{store.format('rewritten')} SELECT now.*, was.row AS before_row, was.state AS before_state "
        f"FROM {left.format('now')} JOIN {left.format('was')} USING ({same}, place)"
    )


def add_changes(before: RunRates, after: RunRates, grouping: Grouping, groups: Sequence[GroupFigures]) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`correct`."""
    was, now = before.run, after.run
    kept, rewritten = queries.kept(now, grouping), queries.rewritten(now, grouping)
    removed, added = (queries.moved(run, grouping).sum(axis=1) for run in (was, now))
    states_before = queries.row_counts(was, grouping).states
    confidences, buckets = queries.confidences(was, grouping), queries.confidence_buckets(was, now, grouping)
    facts_before = FactTables(was, grouping)
    pair_sums = queries.clusters_of_pairs(now, grouping, before.masks, after.masks)
    samples = [run.samples(grouping, rows) for rows in ("all", "moved", "single") for run in (before, after)]
    changed = (FINE_OF[:, None] != FINE_OF) & (FINE_OF[:, None] >= 0) & (FINE_OF >= 0)
    for code, group in enumerate(groups):
        for one in group.predicates:
            one.before = facts_before.omission(code, one.predicate)
        rates, added_rates = {}, {}
        for name in RATES:
            pairs, same = (_as_pairs(one[code], before.masks[name], after.masks[name]) for one in (rewritten, kept))
            sums = pair_sums[name][code]
            pairs = replace(pairs, effect=sums.effect(correlation(sums, pairs.gained + pairs.lost) or 0.0))
            then, this, went, came, gone, fresh = (one[code][name] for one in samples)
            rates[name] = _rate_change(then, this, gone, fresh, pairs, same)
            added_rates[f"added_{name}"] = _added_rate(then, went, came, gone, fresh, pairs)
        group.change = Change(
            rows_before=int(states_before[code].sum()),
            added=int(added[code]),
            removed=int(removed[code]),
            kept=int(kept[code].sum()),
            rewritten=int(rewritten[code].sum()),
            flips=int(kept[code][changed].sum()),
            backoff_before=facts_before.missed(code),
            rates=rates,
            added_rates={name: added_rates[name] for name in ADDED_RATES},
            confidence=ConfidenceChange(before=confidences[code], psi=stability_index(*buckets[code])),
        )


def correct(groups: Sequence[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and say which are significant."""
    rates = [one for group in groups if group.change is not None for one in group.change.rates.values()]
    tests = [one.test for one in rates if one.test is not None]
    for one, q in zip(tests, benjamini_hochberg([one.p for one in tests]).tolist(), strict=True):
        one.q, one.significant = q, q < LEVEL


def _as_pairs(counts: Ints, before: tuple[Bools, Bools], now: tuple[Bools, Bools]) -> Pairs:
    """Pairs by their states, as a rate sees them: the states that count for it, and the hits. *Shape:* (STATES, STATES)
    and (STATES,)."""
    (counted0, hit0), (counted1, hit1) = before, now
    both, lost, gained, neither = (
        int(counts[np.ix_(one, other)].sum()) for one in (hit0, counted0 & ~hit0) for other in (hit1, counted1 & ~hit1)
    )
    return Pairs(both, gained, lost, neither)


def _rate_change(before: Sample, after: Sample, gone: Sample, fresh: Sample, pairs: Pairs, kept: Pairs) -> RateChange:
    """A rate in both runs, with the interval of the difference and its test.

    Args:
        before, after: all rows. gone, fresh: those in one run only, without the ``pairs`` of rewritten rows. kept: rows
            in both runs.
    """
    change = RateChange(before=before.rate, after=after.rate, difference=None, low=None, high=None, test=None)
    now, then = fresh, gone
    if 2 * gone.n < fresh.n:
        then = before
    elif 2 * fresh.n < gone.n:
        now = after
    changed = kept if kept.gained + kept.lost else Pairs()  # only where the scoring did
    both = pairs.plus(changed)
    if tested := compare(both, now, then):
        n0, n1 = then.n + both.n, now.n + both.n
        change.test = Test(n_before=n0, n_after=n1, statistic=tested.z, p=tested.p, q=tested.p, significant=False)
    if change.before.value is not None and change.after.value is not None:
        change.difference = change.after.value - change.before.value
        moved = kept.gained + kept.lost - (kept.gained - kept.lost) ** 2 / max(kept.n, 1)
        variance = moved / (before.n * after.n)
        change.low, change.high = _ends(change.difference, before.n, after.n, gone, fresh, pairs, variance)
    return change


def _added_rate(then: Sample, removed: Sample, added: Sample, gone: Sample, fresh: Sample, pairs: Pairs) -> AddedRate:
    """The added rows compared with the removed ones, or with all of the baseline's; ``gone`` and ``fresh`` as above."""
    replaced = 2 * removed.n >= added.n
    before = removed if replaced else then
    found = AddedRate(added=added.rate, before=before.rate, compared_with="removed" if replaced else "baseline",
                      low=None, high=None, p=None)  # fmt: skip
    if added.n and before.n:
        if replaced:
            tested = compare(pairs, fresh, then if 2 * gone.n < fresh.n else gone)
            difference = added.count / added.n - removed.count / removed.n
            found.low, found.high = _ends(difference, removed.n, added.n, gone, fresh, pairs)
        else:
            tested = compare(Pairs(), added, then)
            found.low, found.high = interval_of_difference(found.added, found.before)
        found.p = tested.p_rise if tested is not None else None
    return found


def _ends(
    difference: float, n0: int, n1: int, gone: Sample, fresh: Sample, pairs: Pairs, variance: float = 0.0
) -> tuple[float, float]:
    """The interval of a difference between rates of ``n0`` and ``n1`` rows, of which these changed."""
    samples = [(fresh.n / n1, fresh.rate), (-gone.n / n0, gone.rate)]
    return combined(difference, samples, pairs, (pairs.n / n1, pairs.n / n0), variance)


def compare_groups(rates: RunRates, grouping: Grouping, first: int, second: int) -> GroupComparison | None:
    """Two groups of a run, by their codes, compared over the inputs that both have a text for; ``None`` where they
    share none."""
    groups = rates.run.database.groups[grouping].groups()
    counts = queries.paired(rates.run, grouping, second, first)  # pairs have the later half first
    found = {}
    for name in RATES:
        pairs = _as_pairs(counts, rates.masks[name], rates.masks[name])
        if pairs.n:
            difference = (pairs.gained - pairs.lost) / pairs.n
            low, high = combined(difference, [], pairs)
            tested = compare(pairs, Sample(), Sample())
            found[name] = PairedRate(first=rate(pairs.both + pairs.gained, pairs.n),
                                     second=rate(pairs.both + pairs.lost, pairs.n), difference=difference,
                                     low=low, high=high, p=tested.p if tested else 1.0)  # fmt: skip
    total = int(counts.sum())
    return GroupComparison(first=groups[first], second=groups[second], pairs=total, rates=found) if total else None


def stability_index(before: Ints, after: Ints) -> float | None:
    """Population stability index: Σ (a - b) · ln(a / b) over the shares of both runs in each bucket.

    Half a row is added to each bucket, so that an empty one does not make it infinite. Null when a side is empty. By
    custom, below 0.1 is not a shift and above 0.25 a large one.

    Args:
        before, after: rows by bucket; buckets without rows of either are left out. *Shape:* (buckets,) each.
    """
    if not before.sum() or not after.sum():
        return None
    used = (before > 0) | (after > 0)
    b, a = ((one[used] + 0.5) / (one[used] + 0.5).sum() for one in (before, after))
    return float(((a - b) * np.log(a / b)).sum())
