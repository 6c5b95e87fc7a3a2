"""Which rows of two runs are the same, and which are another text for the same facts.

Rows are matched in parts by their key, which is a hash, so that DuckDB's memory holds what is joined and sorted at
once. Most rows have a partner in the same groups with the same state: two sums find out which keys have others, and
only rows of these keys are matched one by one.
"""

from __future__ import annotations

from ..metric.verdict import FINE
from .database import Database, parts
from .scan import ScannedRun


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
        values = ", ".join(f"({start}, {names.setdefault(name, len(names))})" for name, start in starts)
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
            f"{FINE_LABEL.format('state')} AS label, (high, low) AS row_key "
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


FINE_LABEL = f"({{}} % {len(FINE) + 1})::TINYINT - 1"
"""The FINE label of a state, -1 for none; see :data:`.states.FINE_OF`."""
