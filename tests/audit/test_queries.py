"""What the database counts, against a small implementation that holds all rows in dictionaries."""

from __future__ import annotations

import resource
import tempfile
import tracemalloc
from collections import defaultdict
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit, database, queries
from scorer.audit.database import Database
from scorer.audit.document import Document
from scorer.audit.queries import match
from scorer.audit.scan import rate_states, scan_output
from scorer.errors import OutputError
from scorer.scoring.outputs import open_labels
from tests.audit.many_rows import two_outputs
from tests.audit.nights import Row, night, row

Line = dict[str, Any]
KINDS = ("omission", "hallucination", "omission+hallucination", "empty_text")


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
        line | {"at": (path.name, row)}
        for path in sorted(out.glob("*.parquet"))
        for row, line in enumerate(pq.read_table(path).to_pylist())
    ]
    return [line | {"place": place} for place, line in enumerate(found)]


PASSES = (("system", "fine"), ("system",), ("fine",), ())
"""What rows with one key agree in when they are matched, first to last."""


def paired(before: list[Line], after: list[Line]) -> tuple[list[tuple[Line, Line]], list[Line], list[Line]]:
    """Pairs of rows with equal keys, pass by pass; then what was removed, and what was added."""
    pairs: list[tuple[Line, Line]] = []
    left = (list(before), list(after))
    for agree in PASSES:
        sides: dict[Any, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
        for number, lines in enumerate(left):
            for line in lines:
                sides[(line["row_key"], *(line[name] for name in agree))][number].append(line)
        found = [pair for side in sides.values() for pair in zip(*side, strict=False)]
        pairs += found
        taken = {id(line) for pair in found for line in pair}
        left = ([one for one in left[0] if id(one) not in taken], [one for one in left[1] if id(one) not in taken])
    return pairs, *left


def rewritten(removed: list[Line], added: list[Line]) -> list[tuple[Line, Line]]:
    """Of the rows that went and came, those with equal facts and equal groups, paired in their order."""
    sides: dict[str, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for number, lines in enumerate((removed, added)):
        for line in sorted(lines, key=lambda line: line["place"]):
            sides[str((line["triples"], line["system"]))][number].append(line)
    return [pair for side in sides.values() for pair in zip(*side, strict=False)]


def compared(before: list[Line], after: list[Line], removed: list[Line], added: list[Line]) -> tuple[Any, Any]:
    if 2 * len(removed) < len(added):
        return before, added
    return (removed, after) if 2 * len(added) < len(removed) else (removed, added)


def check_change(before: list[Line], after: list[Line], change: Any) -> None:
    pairs, removed, added = paired(before, after)
    flips = [(was, now) for was, now in pairs if was["fine"] and now["fine"] and was["fine"] != now["fine"]]
    counts = (change.rows_before, change.kept, change.removed, change.added, change.flips)
    assert counts == (len(before), len(pairs), len(removed), len(added), len(flips))
    rate = change.rates["not_ok_rate"]
    rewrites = rewritten(removed, added)
    assert change.rewritten == len(rewrites)
    single = [[line for line in one if not any(line in pair for pair in rewrites)] for one in (removed, added)]
    rest = compared(before, after, *single)
    lost = sum(was["fine"] == "OK" != now["fine"] for was, now in pairs)
    gained = sum(was["fine"] != "OK" == now["fine"] for was, now in pairs)
    kept = len(pairs) if lost + gained else 0
    assert (rate.test is not None) == bool(removed or added or kept)
    if rate.test is not None:
        assert (rate.test.n_before, rate.test.n_after) == tuple(len(one) + len(rewrites) + kept for one in rest)


def check_lists(before: list[Line], after: list[Line], document: Document, most: int) -> None:
    pairs, removed, added = paired(before, after)
    changes, worse = document.baseline_changes, document.worse
    assert changes.errors_appeared == sum(bool(was["fine"]) and not now["fine"] for was, now in pairs)
    assert changes.errors_gone == sum(bool(now["fine"]) and not was["fine"] for was, now in pairs)
    flips = [(was, now) for was, now in pairs if was["fine"] and now["fine"] and was["fine"] != now["fine"]]
    found = {(f.row_key, f.before, f.after) for f in changes.flips.rows}
    assert found == {(now["row_key"].hex(), was["fine"], now["fine"]) for was, now in flips}

    flipped = [now for was, now in flips if was["fine"] == "OK"]
    fresh = [line for line in added if line["fine"] not in ("OK", None)]
    assert (worse.flipped, worse.added_failing) == (len(flipped), len(fresh))
    share = -(-most // 3)
    least = sorted(flipped, key=lambda line: (line["confidence"], line["place"]))[:share]
    shown = [one.now for one in worse.rows if one.why == "flipped"]
    assert [one.row_key for one in shown] == [line["row_key"].hex() for line in least]
    texts = rewritten(removed, added)
    was_ok = [now for was, now in texts if was["fine"] == "OK" and now["fine"] not in ("OK", None)]
    better = [now for was, now in [*flips, *texts] if now["fine"] == "OK" and was["fine"] not in ("OK", None)]
    assert (worse.rewritten, worse.better) == (len(was_ok), len(better))
    other = [line for line in fresh if not any(line is now for _, now in texts)]
    for why, lines in (("rewritten", was_ok), ("new", other)):
        order = sorted(lines, key=lambda line: (line["confidence"], line["place"]))[:share]
        rows = [one.now.row_key for one in worse.rows if one.why == why]
        assert rows == [line["row_key"].hex() for line in order]
    there = {now["at"]: (was["fine"], was["text"]) for was, now in [*flips, *texts]}
    for one in worse.rows:
        assert (one.before, one.text_before) == there.get((one.now.file, one.now.row), (None, None))

    kinds: dict[str, dict[bytes, Line]] = {kind: {} for kind in KINDS}
    for line in after:
        kind = "empty_text" if line["note"] else line["fine"] or f"error:{line['error'].partition(':')[0]}"
        if kind != "OK":
            kinds.setdefault(kind, {}).setdefault(line["row_key"], line)  # of rows with one key, the first
    halves = np.dtype((np.uint64, 2))
    worst = [
        (kind, key.hex(), one["at"])
        for kind, by_key in kinds.items()
        for key, one in sorted(
            by_key.items(), key=lambda i: (i[1]["confidence"] or 0.0, *np.frombuffer(i[0], halves)[0].tolist())
        )[:most]
    ]
    assert [(one.kind, one.row_key, (one.file, one.row)) for one in document.worst] == worst


@pytest.mark.parametrize(("seed", "sizes", "joined"), [(0, (60, 190), 4_000_000), (2, (190, 60), 50)])
def test_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, sizes: tuple[int, int], joined: int
) -> None:
    monkeypatch.setattr(database, "AT_ONCE", joined)
    outs = [
        night(tmp_path / name, made(seed, sizes[second], second), shards=3)
        for name, second in (("before", False), ("after", True))
    ]
    document = audit(outs[1], AuditOptions(baseline=outs[0], worst=7))
    before, after = map(lines_of, outs)
    check_lists(before, after, document, 7)
    for group in document.groups:
        mine = [[line for line in lines if {**line, **group.group} == line] for lines in (before, after)]
        check_change(*mine, group.change)


def moments(rows: list[tuple[str, int, int]]) -> list[int]:
    """Of (input, counted, added up) each: inputs, Σn, Σx, Σn², Σnx, Σx²."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, n, x in rows:
        sums[name][0] += n
        sums[name][1] += x
    found = [[n > 0, n, x, n * n, n * x, x * x] for n, x in sums.values()]
    return [int(one) for one in np.array(found).reshape(-1, 6).sum(axis=0)]


def bad(line: Line) -> int:
    return int(line["fine"] != "OK")


def test_sums_over_rows_that_share_an_input(tmp_path: Path) -> None:
    outs = [night(tmp_path / str(second), made(4, 260, bool(second)), shards=2) for second in (0, 1)]
    before, after = map(lines_of, outs)
    with Database([("system",)]) as database:
        runs = [scan_output(open_labels(out), database, table) for out, table in zip(outs, ("was", "now"), strict=True)]
        match(*runs)
        masks = rate_states(True)
        for place, group in enumerate(database.groups["system",].groups()):
            mine = [[line for line in lines if line["system"] == group["system"]] for lines in (before, after)]
            _, removed, added = paired(*mine)
            pairs = rewritten(removed, added)
            single = [line for line in added if not any(line is now for _, now in pairs)]
            gone = [line for line in removed if not any(line is was for was, _ in pairs)]
            wanted = {"all": mine[1], "moved": added, "single": single}
            for rows, lines in wanted.items():
                found = queries.clusters(runs[1], ("system",), masks, rows)["not_ok_rate"][place]  # type: ignore[arg-type]
                assert list(astuple(found)) == moments([(str(line["triples"]), 1, bad(line)) for line in lines])
            left = queries.clusters(runs[0], ("system",), masks, "single")["not_ok_rate"][place]
            assert list(astuple(left)) == moments([(str(line["triples"]), 1, bad(line)) for line in gone])
            moved = queries.clusters_of_pairs(runs[1], ("system",), masks, masks)["not_ok_rate"][place]
            assert list(astuple(moved)) == moments([(str(w["triples"]), 1, bad(n) - bad(w)) for w, n in pairs])


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
    monkeypatch.setattr("scorer.audit.database.MEMORY", "1KB")
    with pytest.raises(OutputError, match=r"temporary database of the audit failed.*group by fewer"):
        audit(out)
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    audit(out)
    assert not list(folder.iterdir())


def test_the_database_loads_nothing_and_writes_nothing_to_stdout() -> None:
    names = ("enable_progress_bar", "autoinstall_known_extensions", "autoload_known_extensions")
    with Database([]) as made_up:
        assert made_up.rows("SELECT " + ", ".join(f"current_setting('{name}')" for name in names)) == [(False,) * 3]


ROWS = 20_000
MOST = 16
"""Bytes in Python for each row of this run and of the baseline together; the tables have a limit of their own."""


@pytest.mark.slow
def test_bytes_for_each_row_more(tmp_path: Path) -> None:
    peaks = []
    for copies in (20, 40):
        first, second = two_outputs(tmp_path / str(copies), ROWS, copies, 0.01)
        tracemalloc.start()
        document = audit(second, AuditOptions(baseline=first, by=(("system",),)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        changes = document.baseline_changes
        assert changes is not None
        assert changes.added == changes.removed > 0
        assert changes.added + changes.kept == ROWS * copies
    assert peaks[1] - peaks[0] < MOST * ROWS * 20
