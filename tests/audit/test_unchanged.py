"""A folder that is scored again while the audit reads it: never figures of two runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scorer.audit import AuditOptions, audit, builder
from scorer.audit.scan import scan_output
from scorer.errors import OutputError
from tests.audit.nights import night, row


def rows(said: float) -> list[Any]:
    return [row(f"t{i}", said=said) for i in range(12)]


def scored_again(out: Path) -> None:
    """The folder as a later run leaves it."""
    other = night(out.parent / "again", rows(0.1), shards=3, finished="2026-02-02T03:00:00+00:00")
    shutil.rmtree(out)
    other.rename(out)


def one_receipt(out: Path) -> None:
    """Between two shards: a receipt was taken away, its output is not yet replaced."""
    (out / "_receipts" / "part-1.parquet.json").unlink()


def another_file(out: Path) -> None:
    """The same bytes and receipt, but another file: somebody copies into the folder."""
    path = out / "part-0.parquet"
    path.with_suffix(".copy").write_bytes(path.read_bytes())
    path.with_suffix(".copy").rename(path)


@pytest.mark.parametrize(
    ("change", "name", "which", "before"),
    [
        (scored_again, "_run.json", "out", True),
        (one_receipt, "_receipts/part-1.parquet.json", "out", True),
        (another_file, "part-0.parquet", "out", True),
        (one_receipt, "_receipts/part-1.parquet.json", "baseline", False),
    ],
)
def test_what_changes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, name: str, which: str, before: bool
) -> None:
    """Just before, or just after, the rows of a folder are read."""
    folders = {name: night(tmp_path / name, rows(0.9), shards=3) for name in ("out", "baseline")}
    history = tmp_path / "history.parquet"

    def read(output: Any, *arguments: Any) -> Any:
        mine = output.outs == (folders[which],)
        if mine and before:
            change(folders[which])
        found = scan_output(output, *arguments)
        if mine and not before:
            change(folders[which])
        return found

    monkeypatch.setattr(builder, "scan_output", read)
    with pytest.raises(OutputError) as caught:
        audit(folders["out"], AuditOptions(baseline=folders["baseline"], history=history))
    assert str(caught.value).startswith(f"{folders[which]} changed while it was read (") and name in str(caught.value)
    assert caught.value.exit_code == 2
    assert not history.exists()


@pytest.mark.parametrize("count", [11, 13])
def test_a_summary_of_more_or_fewer_rows_than_the_files(tmp_path: Path, count: int) -> None:
    out = night(tmp_path / "out", rows(0.9))
    summary = json.loads((out / "_run.json").read_text())
    (out / "_run.json").write_text(json.dumps({**summary, "rows": {**summary["rows"], "in": count}}))
    with pytest.raises(OutputError, match=f"its files have 12 rows, its _run.json says {count}"):
        audit(out)
