"""Queries of an audit on the narrow tables, and the tables that match the rows of two runs.

Group codes are those of :attr:`.Database.groups`; rows are numbers in the whole output; a *state* is a row's label with
further marks (:mod:`.scan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ..metric.verdict import FINE
from ..stats.intervals import ClusterSums
from .database import Database, Grouping, Ints, parts
from .document import Confidence, Repeated, Why
from .scan import BLANK, FINE_LABEL, FINE_OF, STATES, Bools, ScannedRun

Masks = Mapping[str, tuple[Bools, Bools]]
BUCKETS = 10
_SCALE = 2**40
OK = 0
_MOMENTS = ("(n > 0)::INTEGER", "n", "x", "n * n", "n * x", "x * x")
_FINE, _FINE_BEFORE, _FINE_REWRITTEN = map(FINE_LABEL.format, ("state", "other_state", "before_state"))


class GroupRowCounts(NamedTuple):
    """Rows by group and kind. int64, *Shape:* (groups, kinds)."""

    states: Ints
    """Rows by state."""
    errors: Ints
    """Rows by kind of error."""
    notes: Ints
    """Rows by joined notes."""
    not_ok_by_notes: Ints
    """Rows by joined notes that are not OK or have an error."""
    reused: Ints
    """Reused labels. *Shape:* (groups,)."""


class GroupFactCounts(NamedTuple):
    """Facts by group and predicate. int64, *Shape:* (groups, predicates)."""

    all: Ints
    """Facts that could be read."""
    checked: Ints
    """Facts that were asked of a text."""
    omitted: Ints
    """Checked facts that the text omits."""
    contradicted: Ints
    """Omitted facts that the text says wrongly."""


class Pair(NamedTuple):
    """A row and its counterpart in the baseline."""

    row: int
    """Number of the row."""
    before: int
    """Number of the row in the baseline, -1 without one."""
    label: int
    """FINE label."""
    label_before: int
    """FINE label in the baseline, -1 without one."""


def match(before: ScannedRun, after: ScannedRun) -> None:
    """Match the rows of two runs, as multisets of keys, in parts by their key, which is a hash.

    Rows of one key are matched within their groups first, with equal labels before others, so that few count as
    changed. All rows of a key are in a table of their own (``was_apart``, ``now_apart``) unless both runs have equally
    many of them in each group and state. It has the columns ``partner``, the row of the other run, and that row's
    ``other_state`` and groups ``other_g0``, ...; all null where it has none. Within a grouping, a row with a partner in
    another group counts as added or removed.

    Of the rows without a partner, those with equal facts in equal groups are paired in their order, in ``rewritten``.
    """
    database = after.database
    groups = [database.column(grouping) for grouping in database.groups]
    for number, condition in enumerate(parts("high", max(len(before), len(after)))):
        _match_part(database, groups, condition, "INSERT INTO {}" if number else "CREATE TEMP TABLE {} AS")
    unmatched = max(
        database.rows(f"SELECT count(*) FROM {table}_apart WHERE partner IS NULL")[0][0] for table in ("was", "now")
    )
    for number, condition in enumerate(parts("input", unmatched)):
        _pair_part(database, groups, condition, "INSERT INTO {}" if number else "CREATE TEMP TABLE {} AS")


def _match_part(database: Database, groups: list[str], condition: str, store: str) -> None:
    narrow = ", ".join(["high", "low", "state", *groups])
    database.run(
        "CREATE OR REPLACE TEMP TABLE moved AS SELECT high, low FROM ("
        f"SELECT {narrow}, 1 AS rows FROM was WHERE {condition} UNION ALL "
        f"SELECT {narrow}, -1 AS rows FROM now WHERE {condition}"
        f") GROUP BY {narrow} HAVING sum(rows) <> 0"
    )
    for side in ("was", "now"):
        database.run(
            f"CREATE OR REPLACE TEMP TABLE {side}_moved AS SELECT *, {_FINE} AS label FROM {side} "
            f"SEMI JOIN moved USING (high, low) WHERE {condition}"
        )
    for side, other_side in (("was", "now"), ("now", "was")):
        shared = f"FROM {side}_moved SEMI JOIN {other_side}_moved USING (high, low)"
        database.run(f"CREATE OR REPLACE TEMP TABLE {side}_shared AS {shared}")
    database.run("CREATE OR REPLACE TEMP TABLE matched (was_row BIGINT, now_row BIGINT)")
    for columns in ([*groups, "label"], groups, ["label"], []):
        key = ", ".join(["high", "low", *columns])
        side_rows = (
            f"(SELECT row, {key}, row_number() OVER (PARTITION BY {key} ORDER BY row) AS place "
            f"FROM {{0}}_shared ANTI JOIN matched ON {{0}}_shared.row = matched.{{0}}_row) AS {{0}}"
        )
        sides = f"{side_rows.format('was')} JOIN {side_rows.format('now')} USING ({key}, place)"
        database.run(f"INSERT INTO matched SELECT was.row, now.row FROM {sides}")
    for side, other_side in (("was", "now"), ("now", "was")):
        partner_columns = ", ".join(f"theirs.{name} AS other_{name}" for name in ("state", *groups))
        database.run(
            f"{store.format(f'{side}_apart')} SELECT ours.*, theirs.row AS partner, {partner_columns} "
            f"FROM {side}_moved AS ours LEFT JOIN matched ON ours.row = {side}_row "
            f"LEFT JOIN {other_side}_moved AS theirs ON theirs.row = {other_side}_row"
        )


def _pair_part(database: Database, groups: list[str], condition: str, store: str) -> None:
    key = ", ".join(["input", *groups])
    side_rows = (
        f"(SELECT row, state, confidence, {key}, row_number() OVER (PARTITION BY {key} ORDER BY row) AS place "
        f"FROM {{0}}_apart WHERE partner IS NULL AND {condition}) AS {{0}}"
    )
    database.run(
        f"{store.format('rewritten')} SELECT now.*, was.row AS before_row, was.state AS before_state "
        f"FROM {side_rows.format('now')} JOIN {side_rows.format('was')} USING ({key}, place)"
    )


def row_counts(run: ScannedRun, grouping: Grouping) -> GroupRowCounts:
    """Rows of each group by state, error, note and reuse."""
    group, states, errors, notes, labelled, times = run.database.columns(
        f"SELECT {run.database.column(grouping)}, state, error, note, reused AND {_FINE} >= 0, count(*) "
        f"FROM {run.table} GROUP BY ALL"
    )
    not_ok_times = np.where(FINE_OF[states] == OK, 0, times)
    tables = []
    for codes, size, rows in (
        (states, STATES, times), (errors, len(run.errors), times), (notes, len(run.notes), times),
        (notes, len(run.notes), not_ok_times), (labelled, 2, times),
    ):  # fmt: skip
        counts = np.zeros((run.groups(grouping), size + 1), np.int64)  # the last column is that of -1
        np.add.at(counts, (group, codes), rows)
        tables.append(counts[:, :size])
    by_state, by_error, by_notes, not_ok_by_notes, by_reuse = tables
    return GroupRowCounts(by_state, by_error, by_notes, not_ok_by_notes, by_reuse[:, 1])


def moved(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows that the other run does not have, by group and state. *Shape:* (groups, STATES)."""
    group, table = run.database.column(grouping), _rows(run, grouping, "moved")
    query = f"SELECT {group}, state, count(*) FROM {table} GROUP BY ALL"
    return run.database.counts(query, run.groups(grouping), STATES)


def new(run: ScannedRun, grouping: Grouping, has_baseline: bool) -> Ints:
    """Rows that are neither reused nor in the baseline, by group and state. *Shape:* (groups, STATES)."""
    group, table = run.database.column(grouping), _rows(run, grouping, "moved" if has_baseline else "all")
    query = f"SELECT {group}, state, count(*) FROM {table} WHERE NOT reused GROUP BY ALL"
    return run.database.counts(query, run.groups(grouping), STATES)


def kept(after: ScannedRun, grouping: Grouping) -> Ints:
    """Rows in both runs, by group, state in the baseline, and state in this run. *Shape:* (groups, STATES, STATES)."""
    group, unmatched_count = after.database.column(grouping), f"count(*) FROM {after.table}_apart"
    shape, kept_in_group = (after.groups(grouping), STATES), f"WHERE {group} = other_{group}"
    counts = after.database.counts(
        f"SELECT {group}, other_state, state, {unmatched_count} {kept_in_group} GROUP BY ALL", *shape, STATES
    )
    states = np.arange(STATES)  # rows that are not apart have a partner of the same state
    counts[:, states, states] += row_counts(after, grouping).states - after.database.counts(
        f"SELECT {group}, state, {unmatched_count} GROUP BY ALL", *shape
    )
    return counts


def rewritten(after: ScannedRun, grouping: Grouping) -> Ints:
    """Rows with a new text for facts of the baseline, by group, state in the baseline, and state in this run; see
    :func:`match`. *Shape:* (groups, STATES, STATES)."""
    query = f"SELECT {after.database.column(grouping)}, before_state, state, count(*) FROM rewritten GROUP BY ALL"
    return after.database.counts(query, after.groups(grouping), STATES, STATES)


def paired(run: ScannedRun, grouping: Grouping, first: int, second: int) -> Ints:
    """Texts of two groups for the same input, in their order, by both states. *Shape:* (STATES, STATES)."""
    side = (
        f"(SELECT input, state, row_number() OVER (PARTITION BY input ORDER BY row) AS place FROM {run.table} "
        f"WHERE {run.database.column(grouping)} = {{}})"
    )
    return run.database.counts(
        f"SELECT one.state, other.state, count(*) FROM {side.format(first)} AS one "
        f"JOIN {side.format(second)} AS other USING (input, place) GROUP BY ALL",
        STATES, STATES,
    )  # fmt: skip


def repeated(run: ScannedRun, grouping: Grouping) -> Repeated:
    """Rows that occur several times within a group."""
    rows = keys = largest = 0
    for condition in parts("high", len(run)):
        ((surplus, repeated_keys, most_of_a_key),) = run.database.rows(
            f"SELECT coalesce(sum(n - 1), 0)::BIGINT, count(*), coalesce(max(n), 1) FROM (SELECT count(*) AS n "
            f"FROM {run.table} WHERE {condition} GROUP BY high, low, {run.database.column(grouping)} HAVING n > 1)"
        )
        rows, keys, largest = rows + surplus, keys + repeated_keys, max(largest, most_of_a_key)
    return Repeated(rows=rows, keys=keys, most=largest)


RowSubset = Literal["all", "moved", "single"]


def clusters(
    run: ScannedRun, grouping: Grouping, masks: Masks, rows: RowSubset = "all"
) -> dict[str, list[ClusterSums]]:
    """Sums over the inputs of each group, by rate (:func:`.scan.rate_states`): of the rows n that count and the hits x.

    ``moved`` rows are not in the other run; ``single`` rows are not in ``rewritten`` either.
    """
    rates = {name: (_count("state", counted), _count("state", hits)) for name, (counted, hits) in masks.items()}
    return _cluster_sums(run, grouping, _rows(run, grouping, rows), rates)


def clusters_of_pairs(run: ScannedRun, grouping: Grouping, before: Masks, after: Masks) -> dict[str, list[ClusterSums]]:
    """The same sums over the pairs of ``rewritten`` that count in both runs, and their changes x: +1, 0 and -1."""
    rates = {}
    for name in after:
        (counted0, hits0), (counted1, hits1) = before[name], after[name]
        counts_in_both = f"{_among('before_state', counted0)} AND {_among('state', counted1)}"
        gained_hits, lost_hits = (
            f"count(*) FILTER ({counts_in_both} AND {_among(*hits)})"
            for hits in (("state", hits1), ("before_state", hits0))
        )
        rates[name] = f"count(*) FILTER ({counts_in_both})", f"{gained_hits} - {lost_hits}"
    return _cluster_sums(run, grouping, "rewritten", rates)


def facts(run: ScannedRun, grouping: Grouping) -> GroupFactCounts:
    """Facts by group and predicate."""
    group, shape = run.database.column(grouping), (run.groups(grouping), len(run.predicates))
    query = f"SELECT {group}, predicate, sum({{}})::BIGINT FROM {run.table}_facts GROUP BY ALL"
    return GroupFactCounts(
        *(run.database.counts(query.format(name), *shape) for name in ("facts", "checked", "omitted", "contradicted"))
    )


def confidences(run: ScannedRun, grouping: Grouping) -> list[Confidence]:
    """Confidences of labelled rows, by group. Sums are of whole numbers, so that no order of rows changes them."""
    by_group = [Confidence(n=0, mean=None) for _ in range(run.groups(grouping))]
    for group, n, total in run.database.rows(
        f"SELECT {run.database.column(grouping)}, count(*), sum((confidence::DOUBLE * {_SCALE})::BIGINT)::HUGEINT "
        f"FROM {run.table} WHERE confidence IS NOT NULL GROUP BY ALL"
    ):
        by_group[group] = Confidence(n=n, mean=total / n / _SCALE)
    return by_group


def confidence_buckets(before: ScannedRun, after: ScannedRun, grouping: Grouping) -> Ints:
    """Rows of both runs by group and bucket of confidence, each a tenth of the baseline's rows; buckets with equal
    bounds, by ties, are merged. *Shape:* (groups, 2, BUCKETS)."""
    group = after.database.column(grouping)
    tenths = [tenth / BUCKETS for tenth in range(1, BUCKETS)]
    after.database.run(
        f"CREATE OR REPLACE TEMP TABLE cuts AS SELECT {group}, list_distinct(quantile_disc(confidence, {tenths})) "
        f"AS cuts FROM {before.table} WHERE confidence IS NOT NULL GROUP BY {group}"
    )
    sides = " UNION ALL ".join(
        f"SELECT {group}, {number}, len(list_filter(cuts, lambda cut: cut < confidence)) AS bucket, count(*) "
        f"FROM {run.table} JOIN cuts USING ({group}) WHERE confidence IS NOT NULL GROUP BY {group}, bucket"
        for number, run in enumerate((before, after))
    )
    return after.database.counts(sides, after.groups(grouping), 2, BUCKETS)


def worst(run: ScannedRun, limit: int) -> dict[str, list[int]]:
    """The rows of least confidence of each kind, each key once; ties by key, so that they are always the same."""
    labels = [name for code, name in enumerate(FINE) if code != OK]
    blank = _among("state", BLANK)
    kinds = [*labels, "empty_text", *map("error:{}".format, run.errors)]
    rows_of: dict[str, list[int]] = {kind: [] for kind in kinds}
    for kind, row in run.database.rows(
        f"""
        WITH failing AS (
            SELECT CASE WHEN error >= 0 THEN {len(labels) + 1} + error WHEN {blank} THEN {len(labels)}
                   ELSE {_FINE} - 1 END AS kind, high, low, min(row) AS row, arg_min(confidence, row) AS confidence
            FROM {run.table} WHERE error >= 0 OR {blank} OR {_FINE} > {OK} GROUP BY ALL
        )
        SELECT kind, row FROM failing QUALIFY row_number() OVER (
            PARTITION BY kind ORDER BY coalesce(confidence, 0), high, low) <= {limit}
        ORDER BY kind, coalesce(confidence, 0), high, low
        """
    ):
        rows_of[kinds[kind]].append(row)
    return rows_of


def flipped(after: ScannedRun, limit: int) -> list[tuple[int, int, int, int, int]]:
    """Kept rows with different labels in order: row, both halves of its key, label, and label in the baseline."""
    return after.database.rows(
        f"SELECT row, high, low, {_FINE}, {_FINE_BEFORE} FROM {after.table}_apart "
        f"WHERE {_FINE} >= 0 AND {_FINE_BEFORE} >= 0 AND {_FINE} <> {_FINE_BEFORE} ORDER BY row LIMIT {limit}"
    )


def failing_now(after: ScannedRun, limit: int, grouping: Grouping, group: int) -> dict[Why, list[Pair]]:
    """Rows of a group that fail and did not before, the least confident of each kind; see :data:`.Why`."""
    fails = f"WHERE {after.database.column(grouping)} = {group} AND {_FINE} > {OK}"
    unmatched = f"{after.table}_apart"
    queries: dict[Why, str] = {
        "flipped": f"SELECT row, partner, {_FINE}, {_FINE_BEFORE} FROM {unmatched} {fails} AND {_FINE_BEFORE} = {OK}",
        "rewritten": f"SELECT row, before_row, {_FINE}, {OK} FROM rewritten {fails} AND {_FINE_REWRITTEN} = {OK}",
        "new": f"SELECT row, -1, {_FINE}, -1 FROM {unmatched} ANTI JOIN rewritten USING (row) {fails} "
        "AND partner IS NULL",
    }
    ordered = {why: f"{query} ORDER BY coalesce(confidence, 0), row LIMIT {limit}" for why, query in queries.items()}
    return {why: [Pair(*pair) for pair in after.database.rows(query)] for why, query in ordered.items()}


def _rows(run: ScannedRun, grouping: Grouping, rows: RowSubset) -> str:
    if rows == "all":
        return run.table
    group, side = run.database.column(grouping), "before_row" if run.table == "was" else "row"
    table = f"FROM {run.table}_apart WHERE {group} IS DISTINCT FROM other_{group}"
    return f"({table}{f' AND row NOT IN (SELECT {side} FROM rewritten)' if rows == 'single' else ''})"


def _among(column: str, mask: Bools) -> str:
    states = ", ".join(map(str, np.flatnonzero(mask).tolist()))
    return f"{column} IN ({states})" if states else "false"


def _count(column: str, mask: Bools) -> str:
    return f"count(*) FILTER ({_among(column, mask)})"


def _cluster_sums(
    run: ScannedRun, grouping: Grouping, table: str, rates: Mapping[str, tuple[str, str]]
) -> dict[str, list[ClusterSums]]:
    """Sums over the inputs of each group, by rate, from aggregates n and x of an input's rows."""
    group = run.database.column(grouping)
    inner = ", ".join(f"{n} AS n{i}, {x} AS x{i}" for i, (n, x) in enumerate(rates.values()))
    moments = [moment.replace("n", f"n{i}").replace("x", f"x{i}") for i in range(len(rates)) for moment in _MOMENTS]
    outer = ", ".join(f"sum({moment})::BIGINT" for moment in moments)
    sums = np.zeros((run.groups(grouping), len(rates), len(_MOMENTS)), np.int64)
    for condition in parts("input", len(run)):
        code, *columns = run.database.columns(
            f"SELECT {group}, {outer} FROM "
            f"(SELECT {group}, {inner} FROM {table} WHERE {condition} GROUP BY {group}, input) GROUP BY {group}"
        )
        sums[code] += np.stack(columns, axis=1).reshape(-1, *sums.shape[1:])
    return {name: [ClusterSums(*group_sums) for group_sums in sums[:, i].tolist()] for i, name in enumerate(rates)}
