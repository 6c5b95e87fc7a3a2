"""What the database counts, against a small implementation that holds all rows in dictionaries."""

from __future__ import annotations

import resource
import tempfile
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit, database
from scorer.audit.database import Database
from scorer.audit.document import Document
from scorer.errors import OutputError
from tests.audit.nights import Row, night, of_system, row, table
from tests.scored_outputs import finish

Line = dict[str, Any]
Pairs = list[tuple[Line, Line]]
PASSES = (("system", "fine"), ("system",), ("fine",), ())
"""What rows with one key agree in when they are matched, first to last."""


def made(seed: int, n: int, second: bool) -> list[Row]:
    """Rows of which many occur several times; in the second run some have other probabilities or texts."""
    rng = np.random.default_rng([seed, second])
    rows = []
    for i in rng.integers(0, 120, n).tolist():
        changed = second and rng.random() < 0.2
        score = float(rng.choice([0.1, 0.3, 0.6, 0.9])) if changed else float(0.05 + i % 19 / 20)
        text = "" if i % 13 == 0 else f"text {i}" + (" new" if second and i % 7 == 0 else "")
        error = f"too_long:{i}" if text and i % 17 == 1 else None
        rows.append(row(text, [("food", score)], 0.2 if i % 5 == 0 else 0.95, f"S{i}", error, system=f"s{i % 3}"))
    return rows


def lines_of(out: Path) -> list[Line]:
    found = [
        line | {"at": (path.name, row), "facts": str(line["triples"])}
        for path in sorted(out.glob("*.parquet"))
        for row, line in enumerate(pq.read_table(path).to_pylist())
    ]
    return [line | {"place": place} for place, line in enumerate(found)]


def pairs_of(left: list[list[Line]], *agree: str) -> tuple[Pairs, list[list[Line]]]:
    """Rows of two runs that agree in some values, paired in their order; and the others."""
    sides: dict[Any, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for number, lines in enumerate(left):
        for line in sorted(lines, key=lambda line: line["place"]):
            sides[tuple(line[name] for name in agree)][number].append(line)
    found = [pair for side in sides.values() for pair in zip(*side, strict=False)]
    taken = {id(line) for pair in found for line in pair}
    return found, [[line for line in lines if id(line) not in taken] for lines in left]


def matched(before: list[Line], after: list[Line]) -> tuple[Pairs, list[list[Line]]]:
    """Pairs of rows with equal keys, pass by pass; and the rows that were removed and added."""
    pairs: Pairs = []
    left = [before, after]
    for agree in PASSES:
        found, left = pairs_of(left, "row_key", *agree)
        pairs += found
    return pairs, left


def flips_of(pairs: Pairs) -> Pairs:
    return [(was, now) for was, now in pairs if was["fine"] and now["fine"] and was["fine"] != now["fine"]]


def check_change(before: list[Line], after: list[Line], change: Any) -> None:
    pairs, (removed, added) = matched(before, after)
    rewritten, (gone, fresh) = pairs_of([removed, added], "facts", "system")
    counts = (change.rows_before, change.kept, change.removed, change.added, change.flips, change.rewritten)
    assert counts == (len(before), len(pairs), len(removed), len(added), len(flips_of(pairs)), len(rewritten))
    tested = before if 2 * len(gone) < len(fresh) else gone, after if 2 * len(fresh) < len(gone) else fresh
    changed = sum((was["fine"] == "OK") != (now["fine"] == "OK") for was, now in pairs)
    kept = len(pairs) if changed else 0
    test = change.rates["not_ok_rate"].test
    assert (test is not None) == bool(removed or added or kept)
    if test is not None:
        assert (test.n_before, test.n_after) == tuple(len(one) + len(rewritten) + kept for one in tested)


def check_lists(before: list[Line], after: list[Line], document: Document, most: int) -> None:
    pairs, (_, added) = matched(before, after)
    changes, worse = document.baseline_changes, document.worse
    errors = [sum(bool(a["fine"]) and not b["fine"] for a, b in one) for one in (pairs, [p[::-1] for p in pairs])]
    assert [changes.errors_appeared, changes.errors_gone] == errors
    found = {(f.row_key, f.before, f.after) for f in changes.flips.rows}
    assert found == {(now["row_key"].hex(), was["fine"], now["fine"]) for was, now in flips_of(pairs)}
    flipped = [now for was, now in flips_of(pairs) if was["fine"] == "OK"]
    assert (worse.flipped, worse.added_failing) == (len(flipped), sum(x["fine"] not in ("OK", None) for x in added))
    least = sorted(flipped, key=lambda line: (line["confidence"], line["place"]))[: -(-most // 3)]
    shown = [one.now.row_key for one in worse.rows if one.why == "flipped"]
    assert shown == [line["row_key"].hex() for line in least]

    kinds: dict[str, dict[bytes, Line]] = {
        kind: {} for kind in ("omission", "hallucination", "omission+hallucination", "empty_text")
    }
    for line in after:
        kind = "empty_text" if line["note"] else line["fine"] or f"error:{line['error'].partition(':')[0]}"
        if kind != "OK":
            kinds.setdefault(kind, {}).setdefault(line["row_key"], line)  # of rows with one key, the first

    def rank(one: Line) -> tuple[Any, ...]:
        return (one["confidence"] or 0.0, *np.frombuffer(one["row_key"], np.uint64).tolist())

    worst = [(kind, one["at"]) for kind, by_key in kinds.items() for one in sorted(by_key.values(), key=rank)[:most]]
    assert [(one.kind, (one.file, one.row)) for one in document.worst] == worst


@pytest.mark.parametrize(("seed", "sizes", "joined"), [(0, (60, 190), 4_000_000), (2, (190, 60), 50)])
def test_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, sizes: tuple[int, int], joined: int
) -> None:
    monkeypatch.setattr(database, "AT_ONCE", joined)
    outs = [night(tmp_path / str(second), made(seed, sizes[second], second), shards=3) for second in (False, True)]
    document = audit(outs[1], AuditOptions(baseline=outs[0], worst=7))
    before, after = map(lines_of, outs)
    check_lists(before, after, document, 7)
    for group in document.groups:
        first, second = ([line for line in lines if {**line, **group.group} == line] for lines in (before, after))
        check_change(first, second, group.change)


def test_a_temporary_database_without_memory_or_room_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    out = night(tmp_path / "out", made(1, 30, False))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    try:
        with pytest.raises(OutputError, match=r"temporary database of the audit failed.*set TMPDIR"):
            audit(out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    monkeypatch.setattr(database, "MEMORY", "1KB")
    with pytest.raises(OutputError, match=r"temporary database of the audit failed.*group by fewer"):
        audit(out)
    assert not list(folder.iterdir())


def test_the_database_loads_nothing_and_writes_nothing_to_stdout() -> None:
    names = ("enable_progress_bar", "autoinstall_known_extensions", "autoload_known_extensions")
    with Database([]) as opened:
        assert opened.rows("SELECT " + ", ".join(f"current_setting('{name}')" for name in names)) == [(False,) * 3]


ROWS = 20_000
MOST = 16
"""Bytes in Python for each row of this run and of the baseline together; the tables have a limit of their own."""


def copy_of(rows: pa.Table, number: int) -> pa.Table:
    """Rows with other keys."""
    column = rows["row_key"].combine_chunks()
    keys = np.frombuffer(column.buffers()[1], np.uint64) ^ np.uint64(number)
    return rows.set_column(
        rows.schema.get_field_index("row_key"),
        "row_key",
        pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(keys.tobytes())]),
    )


@pytest.mark.slow
def test_bytes_for_each_row_more(tmp_path: Path) -> None:
    same, removed, added = (of_system(100, n, "a", start) for n, start in ((ROWS - 200, 0), (200, ROWS), (200, -200)))
    nights = [table(same + removed), table(same + added)]
    peaks = []
    for copies in (10, 20):
        first, second = (
            finish(tmp_path / f"{copies}-{i}", {f"{n}/a.parquet": copy_of(one, n) for n in range(copies)})
            for i, one in enumerate(nights)
        )
        tracemalloc.start()
        changes = audit(second, AuditOptions(baseline=first, by=(("system",),))).baseline_changes
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (changes.added, changes.removed) == (200 * copies, 200 * copies)
        assert changes.kept == (ROWS - 200) * copies
    assert peaks[1] - peaks[0] < MOST * ROWS * 10
