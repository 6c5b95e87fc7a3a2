"""Sums over rows that share an input, against a small implementation."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from scorer.audit import queries
from scorer.audit.database import Database
from scorer.audit.facts import FactReader
from scorer.audit.matching import match
from scorer.audit.scan import scan_output
from scorer.audit.states import rate_states
from scorer.scoring.outputs import open_output
from tests.audit.nights import night
from tests.audit.test_queries import Line, lines_of, made, paired, rewritten


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


def test_rows_of_one_input(tmp_path: Path) -> None:
    outs = [night(tmp_path / str(second), made(4, 260, bool(second)), shards=2) for second in (0, 1)]
    before, after = map(lines_of, outs)
    with Database([("system",)]) as database:
        runs = [
            scan_output(open_output(out), database, table, FactReader("triples"))
            for out, table in zip(outs, ("was", "now"), strict=True)
        ]
        match(*runs)
        masks = rate_states("not-ok", True, False)
        for place, group in enumerate(database.groups["system",].groups()):
            mine = [[line for line in lines if line["system"] == group["system"]] for lines in (before, after)]
            _, removed, added = paired(*mine)
            pairs = rewritten(removed, added)
            single = [line for line in added if not any(line is now for _, now in pairs)]
            gone = [line for line in removed if not any(line is was for was, _ in pairs)]
            wanted = {"all": mine[1], "moved": added, "single": single}
            for rows, lines in wanted.items():
                found = queries.clusters(runs[1], ("system",), masks, rows)["not_ok_rate"][place]  # type: ignore[arg-type]
                assert found.tolist() == moments([(str(line["triples"]), 1, bad(line)) for line in lines])
            left = queries.clusters(runs[0], ("system",), masks, "single")["not_ok_rate"][place]
            assert left.tolist() == moments([(str(line["triples"]), 1, bad(line)) for line in gone])
            moved = queries.clusters_of_pairs(runs[1], ("system",), masks, masks)["not_ok_rate"][place]
            assert moved.tolist() == moments([(str(w["triples"]), 1, bad(n) - bad(w)) for w, n in pairs])
