"""The history under several writers, and what a pass keeps in memory."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq

from scorer.audit import audit
from scorer.audit.history import append, rows_of
from tests.audit.nights import night, row

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    groups = audit(night(tmp_path / "out", [row(system=s) for s in "ab"])).groups
    lines = [rows_of(f"2026-01-{day:02}T03:00:00+00:00", "s", "pass", groups) for day in range(1, 13)]
    file = tmp_path / "history.parquet"
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda one: len(append(file, one)), lines))
    assert sorted(seen) == [3 * n for n in range(1, 13)]
    found = pq.read_table(file)["night"].to_pylist()
    assert found == sorted(found)
    assert len(found) == 36


def test_the_python_of_the_page(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "audit.md").read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, object] = {}
    exec(compile(code, "audit.md", "exec"), names)
    nights = [night(tmp_path / name, [row(system="a")]) for name in ("before", "after")]
    shown = names["show"](nights[1], nights[0])  # type: ignore[operator]
    assert shown.document.baseline.rows == 1
    assert "<iframe" in shown._repr_html_()
