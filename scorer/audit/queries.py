"""What an audit asks of the narrow tables. Group codes are those of :attr:`.Database.groups`; rows are numbers in the
whole output; a *state* is a row's label and more in a byte (:mod:`.scan`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE
from .database import Grouping, Ints, parts
from .document import BINS, Confidence, Why
from .scan import BLANK, FACT_CLASSES, FINE_LABEL, LENGTH_CLASSES, STATES, Bools, ScannedRun

Masks = Mapping[str, tuple[Bools, Bools]]
Rows = Literal["all", "moved", "single"]
MOST_FLIPS_MEASURED = 20_000
OK = 0


QUANTILES = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Confidences:
    """``values``: float32, *Shape:* (rows with one,), by group, rising in each. ``ends``: int64, *Shape:*
    (groups + 1,)."""

    values: Floats
    ends: npt.NDArray[np.int64]

    def __getitem__(self, group: int) -> Floats:
        """Of one group, in rising order."""
        return self.values[self.ends[group] : self.ends[group + 1]]

    def distribution(self, group: int) -> Confidence:
        """As the document shows it."""
        values = self[group]
        cuts = quantiles(values) if len(values) else [None] * len(QUANTILES)
        return Confidence(
            n=len(values),
            mean=float(values.mean(dtype=np.float64)) if len(values) else None,
            quantiles={f"{q:.2f}": cut for q, cut in zip(QUANTILES, cuts, strict=True)},
            histogram=np.histogram(values, BINS, (0.0, 1.0))[0].tolist(),
        )


class FactCounts(NamedTuple):
    """Facts by group and predicate, int64, *Shape:* (groups, predicates). ``all``: that could be read; ``checked``:
    those asked of a text; ``omitted``: of these."""

    all: Ints
    checked: Ints
    omitted: Ints


class Repeats(NamedTuple):
    """How often keys occur in each group, int64, *Shape:* (groups,): distinct keys, rows of the most frequent one."""

    distinct: Ints
    most: Ints


class Pair(NamedTuple):
    """A row and its counterpart in the baseline, -1 without one, and the FINE labels of both, -1 without one."""

    row: int
    before: int
    label: int
    label_before: int


@dataclass(frozen=True)
class Flipped:
    """Kept rows whose FINE label differs. ``count``: all; ``pairs``: the first :data:`MOST_FLIPS_MEASURED` by row."""

    count: int
    pairs: list[Pair]


def states(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows by group and state. *Shape:* (groups, STATES)."""
    return _counted(run, grouping, {"state": STATES})


def added(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows that the other run does not have, by group and state. *Shape:* (groups, STATES)."""
    return _states_apart(run, grouping, f"{_other(run, grouping)} IS NULL")


def kept(after: ScannedRun, grouping: Grouping) -> Ints:
    """Rows in both runs, by group, state in the baseline, and state in this run. *Shape:* (groups, STATES, STATES)."""
    group, other = after.database.column(grouping), _other(after, grouping)
    counts = after.database.counts(
        f"SELECT {group}, {other}, state, count(*) FROM {after.table}_apart WHERE {other} IS NOT NULL GROUP BY ALL",
        after.groups(grouping),
        STATES,
        STATES,
    )
    same = np.arange(STATES)
    counts[:, same, same] += states(after, grouping) - _states_apart(after, grouping)
    return counts


def rewritten(after: ScannedRun, grouping: Grouping) -> Ints:
    """Rows with a new text for facts that the baseline has with another text, by group, state of the row of the
    baseline, and state of this one; see :func:`.changes.match`. *Shape:* (groups, STATES, STATES)."""
    group, other = after.database.column(grouping), _other(after, grouping)
    return after.database.counts(
        f"SELECT {group}, before_state, state, count(*) FROM rewritten WHERE {other} IS NULL GROUP BY ALL",
        after.groups(grouping),
        STATES,
        STATES,
    )


def paired(run: ScannedRun, grouping: Grouping, first: int, second: int) -> Ints:
    """Texts of two groups for the same input, in their order, by state of the first and of the second one.

    *Shape:* (STATES, STATES).
    """
    group = run.database.column(grouping)
    side = (
        f"(SELECT input, state, row_number() OVER (PARTITION BY input ORDER BY row) AS place FROM {run.table} "
        f"WHERE {group} = {{}})"
    )
    return run.database.counts(
        f"SELECT one.state, other.state, count(*) FROM {side.format(first)} AS one "
        f"JOIN {side.format(second)} AS other USING (input, place) GROUP BY ALL",
        STATES,
        STATES,
    )


def clusters(run: ScannedRun, grouping: Grouping, masks: Masks, rows: Rows = "all") -> dict[str, Ints]:
    """Sums over the inputs of each group, for rates: of the rows n that count and the hits x of each input.

    Args:
        masks: by rate, the states that count and those that are hits (:func:`.states.rate_states`).
        rows: ``all``; ``moved``: those that the other run does not have; ``single``: of these, those that are not in a
            pair of ``rewritten``.

    Returns:
        By rate, int64, *Shape:* (groups, 6): inputs with n > 0, Σn, Σx, Σn², Σnx, Σx².
    """
    table = run.table if rows == "all" else f"(FROM {run.table}_apart WHERE {_other(run, grouping)} IS NULL"
    if rows == "single":
        side = "before_row" if run.table == "was" else "row"
        table += f" AND row NOT IN (SELECT {side} FROM rewritten WHERE {_other(run, grouping)} IS NULL)"
    rates = {name: (_among("state", counted), _among("state", hits)) for name, (counted, hits) in masks.items()}
    return _sums(run, grouping, table if rows == "all" else f"{table})", "state", rates)


def clusters_of_pairs(after: ScannedRun, grouping: Grouping, before: Masks, now: Masks) -> dict[str, Ints]:
    """The same sums over the pairs of ``rewritten``: of the pairs n that count in both runs and their changes x, which
    are +1, 0 and -1 each."""
    rates = {}
    for name in now:
        (counted0, hits0), (counted1, hits1) = before[name], now[name]
        counted = f"{_among('before_state', counted0)} * {_among('state', counted1)}"
        rates[name] = counted, f"{counted} * ({_among('state', hits1)} - {_among('before_state', hits0)})"
    table = f"(FROM rewritten WHERE {_other(after, grouping)} IS NULL)"
    return _sums(after, grouping, table, "before_state, state", rates)


def errors(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows by group and kind of error. *Shape:* (groups, kinds)."""
    return _counted(run, grouping, {"error": len(run.errors)}, "error >= 0")


def notes(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows by group and notes, as they are joined. *Shape:* (groups, kinds)."""
    return _counted(run, grouping, {"note": len(run.notes)}, "note >= 0")


def reused(run: ScannedRun, grouping: Grouping) -> Ints:
    """Rows with a label of an earlier run, by group. *Shape:* (groups,)."""
    return _counted(run, grouping, {"reused::TINYINT": 2}, f"{_FINE} >= 0")[:, 1]


def by_facts(run: ScannedRun, grouping: Grouping) -> Ints:
    """Labelled rows by group, class of their number of facts, and label. *Shape:* (groups, classes, labels)."""
    classes = {"facts": len(FACT_CLASSES), _FINE: len(FINE)}
    return _counted(run, grouping, classes, f"facts >= 0 AND {_FINE} >= 0")


def by_length(run: ScannedRun, grouping: Grouping) -> Ints:
    """Labelled rows by group, class of the length of their text, and label. *Shape:* (groups, classes, labels)."""
    classes = {"length": len(LENGTH_CLASSES), _FINE: len(FINE)}
    return _counted(run, grouping, classes, f"length >= 0 AND {_FINE} >= 0")


def facts(run: ScannedRun, grouping: Grouping) -> FactCounts:
    """Facts by group and predicate."""
    group, shape = run.database.column(grouping), (run.groups(grouping), len(run.predicates))
    one = f"SELECT {group}, predicate, sum({{}})::BIGINT FROM {run.table}_facts GROUP BY ALL"
    return FactCounts(*(run.database.counts(one.format(name), *shape) for name in ("facts", "checked", "omitted")))


def objects(run: ScannedRun) -> list[tuple[int, int, int, int]]:
    """Predicate, object, facts checked and of them omitted, where a template depends on the object."""
    return run.database.rows(
        f"SELECT predicate, object, sum(checked)::BIGINT, sum(omitted)::BIGINT FROM {run.table}_facts "
        "WHERE object >= 0 GROUP BY ALL HAVING sum(checked) > 0 ORDER BY ALL"
    )


def repeats(run: ScannedRun, grouping: Grouping) -> Repeats:
    """How often keys occur in the groups. Only keys that occur more than once in the whole run are grouped."""
    group, repeated = run.database.column(grouping), _repeated(run)
    rows = states(run, grouping).sum(axis=1)
    distinct, most = rows.copy(), (rows > 0).astype(np.int64)
    for part in parts("high", len(run)):
        for code, more, times in run.database.rows(
            f"SELECT {group}, sum(n - 1)::BIGINT, max(n) FROM (SELECT {group}, count(*) AS n FROM {run.table} "
            f"SEMI JOIN {repeated} USING (high) WHERE {part} GROUP BY {group}, high, low) GROUP BY ALL"
        ):
            distinct[code] -= more
            most[code] = max(most[code], times)
    return Repeats(distinct, most)


def confidences(run: ScannedRun, grouping: Grouping) -> Confidences:
    """Confidences by group in rising order."""
    group = run.database.column(grouping)
    of = f"FROM {run.table} WHERE confidence IS NOT NULL"
    sizes = run.database.counts(f"SELECT {group}, count(*) {of} GROUP BY ALL", run.groups(grouping))
    return Confidences(*run.database.floats(f"SELECT {group}, confidence {of}", sizes))


def worst(run: ScannedRun, most: int) -> dict[str, list[int]]:
    """The rows of least confidence of each kind, each key once; ties by key, so that they are always the same.

    Kinds: the FINE labels that are not OK (rows with a blank text are a kind of their own), and each kind of error.
    """
    labels = [name for code, name in enumerate(FINE) if code != OK]
    blank = f"{_among('state', BLANK)} = 1"
    kinds = [*labels, "empty_text", *map("error:{}".format, run.errors.names)]
    found: dict[str, list[int]] = {kind: [] for kind in kinds}
    for kind, row in run.database.rows(
        f"""
        WITH failing AS (
            SELECT CASE WHEN error >= 0 THEN {len(labels) + 1} + error WHEN {blank} THEN {len(labels)}
                   ELSE {_FINE} - 1 END AS kind, high, low, min(row) AS row, arg_min(confidence, row) AS confidence
            FROM {run.table} WHERE error >= 0 OR {blank} OR {_FINE} > {OK} GROUP BY ALL
        )
        SELECT kind, row FROM failing QUALIFY row_number() OVER (
            PARTITION BY kind ORDER BY coalesce(confidence, 0), high, low) <= {most}
        ORDER BY kind, coalesce(confidence, 0), high, low
        """
    ):
        found[kinds[kind]].append(row)
    return found


def flipped(after: ScannedRun) -> Flipped:
    """Kept rows whose label differs."""
    differs = f"WHERE {_FINE} >= 0 AND {_FINE_BEFORE} >= 0 AND {_FINE} <> {_FINE_BEFORE}"
    count = after.database.rows(f"SELECT count(*) FROM {after.table}_apart {differs}")[0][0]
    pairs = after.database.rows(
        f"SELECT row, partner, {_FINE}, {_FINE_BEFORE} FROM {after.table}_apart {differs} "
        f"ORDER BY row LIMIT {MOST_FLIPS_MEASURED}"
    )
    return Flipped(count, [Pair(*pair) for pair in pairs])


def failing_now(after: ScannedRun, most: int, grouping: Grouping, group: int) -> dict[Why, list[Pair]]:
    """Rows of a group that fail and did not before, those of least confidence of each kind: ``flipped`` (in both runs),
    ``rewritten`` (another text for the same facts) and ``new`` (facts that the baseline does not have)."""
    mine = f"{after.database.column(grouping)} = {group}"
    queries: dict[Why, str] = {
        "flipped": f"SELECT row, partner, {_FINE}, {_FINE_BEFORE} FROM {after.table}_apart "
        f"WHERE {_FINE} > {OK} AND {_FINE_BEFORE} = {OK} AND {mine}",
        "rewritten": f"SELECT row, before_row, {_FINE}, {OK} FROM rewritten "
        f"WHERE {_FINE} > {OK} AND {_FINE_REWRITTEN} = {OK} AND {mine}",
        "new": f"SELECT row, -1, {_FINE}, -1 FROM {after.table}_apart ANTI JOIN rewritten USING (row) "
        f"WHERE {_FINE} > {OK} AND partner IS NULL AND {mine}",
    }
    return {
        why: [
            Pair(*pair) for pair in after.database.rows(f"{query} ORDER BY coalesce(confidence, 0), row LIMIT {most}")
        ]
        for why, query in queries.items()
    }


_FINE, _FINE_BEFORE, _FINE_REWRITTEN = map(FINE_LABEL.format, ("state", "other0", "before_state"))


def _other(run: ScannedRun, grouping: Grouping) -> str:
    return f"other{run.database.column(grouping)[1:]}"


def _among(column: str, mask: Bools) -> str:
    """1 where a state is one of those, else 0."""
    chosen = ", ".join(map(str, np.flatnonzero(mask).tolist()))
    return f"({column} IN ({chosen}))::INTEGER" if chosen else "0"


def _repeated(run: ScannedRun) -> str:
    """A table of the first halves of the keys that occur more than once, or share that half."""
    run.database.run(
        f"CREATE TEMP TABLE IF NOT EXISTS {run.table}_repeated AS "
        f"SELECT high FROM {run.table} GROUP BY high HAVING count(*) > 1"
    )
    return f"{run.table}_repeated"


def _sums(
    run: ScannedRun, grouping: Grouping, table: str, keys: str, rates: Mapping[str, tuple[str, str]]
) -> dict[str, Ints]:
    """Sums over inputs by group.

    Only inputs with more than one row in a group are added up one by one; of the others, those with equal ``keys`` at
    once. A narrow query finds out which is which: it takes far less memory, and most rows may have an input of their
    own.

    Args:
        keys: the columns that ``rates`` depend on.
        rates: by name, SQL of what counts and of what is added up, of a row.
    """
    group, moments = (
        run.database.column(grouping),
        ("(n{0} > 0)::INTEGER", "n{0}", "x{0}", "n{0} * n{0}", "n{0} * x{0}", "x{0} * x{0}"),
    )
    run.database.run(
        f"CREATE OR REPLACE TEMP TABLE shared AS SELECT {group}, input, {keys}, count(*) AS times FROM {table} "
        f"SEMI JOIN (SELECT {group}, input FROM {table} GROUP BY ALL HAVING count(*) > 1) USING ({group}, input) "
        "GROUP BY ALL"
    )
    of_input = ", ".join(
        f"sum(times * {n})::BIGINT AS n{i}, sum(times * {x})::BIGINT AS x{i}" for i, (n, x) in enumerate(rates.values())
    )
    of_row = ", ".join(f"{n} AS n{i}, {x} AS x{i}" for i, (n, x) in enumerate(rates.values()))
    outer = ", ".join(f"sum(inputs * {one.format(i)})::BIGINT" for i in range(len(rates)) for one in moments)
    found = {name: np.zeros((run.groups(grouping), len(moments)), np.int64) for name in rates}
    for code, *sums in run.database.rows(
        f"""
        WITH alone AS (
            SELECT {group}, {keys}, sum(n)::BIGINT AS inputs FROM (
                SELECT {group}, {keys}, count(*) AS n FROM {table} GROUP BY ALL
                UNION ALL SELECT {group}, {keys}, -sum(times) AS n FROM shared GROUP BY ALL
            ) GROUP BY ALL
        )
        SELECT {group}, {outer} FROM (
            SELECT {group}, 1 AS inputs, {of_input} FROM shared GROUP BY {group}, input
            UNION ALL SELECT {group}, inputs, {of_row} FROM alone
        ) GROUP BY {group}
        """
    ):
        for i, one in enumerate(found.values()):
            one[code] = sums[i * len(moments) : (i + 1) * len(moments)]
    return found


def _states_apart(run: ScannedRun, grouping: Grouping, where: str = "TRUE") -> Ints:
    """Rows of the table of rows that differ, by group and state. *Shape:* (groups, STATES)."""
    group = run.database.column(grouping)
    return run.database.counts(
        f"SELECT {group}, state, count(*) FROM {run.table}_apart WHERE {where} GROUP BY ALL",
        run.groups(grouping),
        STATES,
    )


def _counted(run: ScannedRun, grouping: Grouping, values: Mapping[str, int], where: str = "TRUE") -> Ints:
    """Rows by group and values, from a table of the rows with equal values that is made once.

    Args:
        values: columns, and how many values each may have. *Shape:* (groups, *of each column).
    """
    columns = ", ".join(run.database.column(one) for one in run.database.groups)
    run.database.run(
        f"CREATE TEMP TABLE IF NOT EXISTS {run.table}_counts AS "
        f"SELECT {columns}, state, error, note, reused, facts, length, count(*) AS times FROM {run.table} GROUP BY ALL"
    )
    chosen = ", ".join([run.database.column(grouping), *values])
    return run.database.counts(
        f"SELECT {chosen}, sum(times)::BIGINT FROM {run.table}_counts WHERE {where} GROUP BY ALL",
        run.groups(grouping),
        *values.values(),
    )


def quantiles(values: Floats) -> list[float | None]:
    """:data:`QUANTILES` of rising values, at least one, interpolated in float64 as :func:`numpy.quantile` does."""
    place = (len(values) - 1) * np.array(QUANTILES)
    below = np.floor(place).astype(np.int64)
    low, high = (values[np.minimum(at, len(values) - 1)].astype(np.float64) for at in (below, below + 1))
    part, step = place - below, high - low
    found: list[float | None] = np.where(part < 0.5, low + step * part, high - step * (1 - part)).tolist()
    return found
