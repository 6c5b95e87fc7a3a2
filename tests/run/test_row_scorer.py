"""A run drives any row scorer: another metric has the same plan, receipts, resuming and quarantined shards.

The row scorer here counts the characters of a text. It knows no model, triples or labels.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, DeviceError, OutputError, UsageError
from scorer.run import driver, early_check, plan_file, survey, totals
from scorer.run.driver import run
from scorer.run.options import Outcome, RunOptions
from scorer.scoring.origin import Device, Origin
from scorer.scoring.plain_rows import PlainRows
from scorer.scoring.plan import Budgets
from scorer.scoring.signature import Signature
from scorer.scoring.windows import ScoredWindow, Tag, Window
from scorer.storage import Counts
from scorer.storage.counts import RowCounts


@dataclass(frozen=True)
class TextColumn:
    """Reads and keeps the column of texts alone."""

    name: str
    needed: tuple[str, ...]
    keeps_all: bool = False

    @property
    def shape(self) -> Mapping[str, object]:
        return {"text": self.name}

    def bad_rows(self, table: pa.Table) -> None:
        return None


class TextLengths(PlainRows[TextColumn]):
    """Adds the column ``length``; a null text is an error row."""

    def score(self, window: Window[Tag, TextColumn]) -> ScoredWindow[Tag]:
        texts = window.table[window.columns.name]
        if not pa.types.is_string(texts.type):
            raise ColumnError(f"column {window.columns.name!r} is {texts.type}")
        table = window.table.append_column("length", pc.utf8_length(texts))
        errors = {"null_text": texts.null_count} if texts.null_count else {}
        return ScoredWindow(window.tag, table, Counts(RowCounts(len(texts), len(texts) - texts.null_count, 0, errors)))


@dataclass(frozen=True)
class TextLengthScoring:
    text: str = "text"
    revision: int = 1

    def find_columns(self, schema: pa.Schema) -> TextColumn:
        if self.text not in schema.names:
            raise ColumnError(f"no column {self.text!r}")
        return TextColumn(self.text, (self.text,))

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[TextLengths]:
        yield TextLengths(Signature(f"metric:text-length|revision:{self.revision}"))

    def to_plan(self) -> Mapping[str, object]:
        return {"text": self.text}


class Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def texts(count: int) -> pa.Table:
    return pa.table({"text": [None if i % 10 == 3 else "x" * i for i in range(count)], "other": range(count)})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(texts(25), folder / "a.parquet")
    pq.write_table(texts(5), folder / "deep" / "b.parquet")
    return folder


def lengths(data: Path, out: Path, revision: int = 1, told: Told | None = None, **more: Any) -> Outcome:
    options = RunOptions((str(data),), out, max_error_rate=0.5, window_rows=4, **more)
    return run(options, TextLengthScoring(revision=revision), told or Told())


def test_shards_have_columns_signature_and_receipts(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = lengths(data, out)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.counts.rows.all) == (0, 2, 30)
    assert outcome.summary.counts.rows.errors == {"null_text": 4} and (out / "_SUCCESS").exists()
    for name, rows in (("a.parquet", 25), ("deep/b.parquet", 5)):
        table = pq.read_table(out / name)
        assert table.schema.names == ["text", "length"]
        assert table["length"].to_pylist() == [None if i % 10 == 3 else i for i in range(rows)]
        assert table.schema.metadata[b"d2t_scorer.signature"] == b"metric:text-length|revision:1"
        receipt = json.loads((out / "_receipts" / f"{name}.json").read_text())
        assert receipt["output"]["sha256"] == hashlib.sha256((out / name).read_bytes()).hexdigest()
        assert receipt["fingerprint"]["columns"] == {"text": "text"}
    plan = json.loads((out / "_plan.json").read_text())
    assert plan["settings"] == {"text": "text"} and set(plan["inputs"]) == {"a.parquet", "deep/b.parquet"}
    assert plan["budgets"] == {
        "window_rows": 4, "window_bytes": plan["budgets"]["window_bytes"], "first_rows": [1024, 4096],
    }  # fmt: skip


def test_a_resume_cuts_the_first_windows_as_its_plan_says(data: Path, tmp_path: Path) -> None:
    out, plan = tmp_path / "out", tmp_path / "out" / "_plan.json"
    lengths(data, out)
    content = json.loads(plan.read_text())
    content["budgets"]["first_rows"] = [1, 2]
    plan.write_text(json.dumps(content))
    (out / "_receipts" / "a.parquet.json").unlink()

    class Windows(Told):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[int] = []

        def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
            self.rows += [rows] if shard == "a.parquet" and rows else []

    told = Windows()
    lengths(data, out, told=told)
    assert told.rows == [1, 2, 4, 4, 4, 4, 4, 2]
    assert json.loads(plan.read_text())["budgets"] == content["budgets"]


def test_a_resume_does_what_is_left_and_a_new_revision_everything(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lengths(data, out)
    before = (out / "a.parquet").stat().st_mtime_ns, (out / "deep" / "b.parquet").read_bytes()
    (out / "_receipts" / "deep" / "b.parquet.json").unlink()
    again = lengths(data, out)
    assert (again.summary.shards.skipped, again.summary.computed_now, again.summary.counts.rows.all) == (1, 5, 30)
    assert ((out / "a.parquet").stat().st_mtime_ns, (out / "deep" / "b.parquet").read_bytes()) == before
    told = Told()
    whole = (out / "_plan.json").read_bytes(), (out / "_SUCCESS").read_bytes()
    with pytest.raises(
        OutputError, match=r"under the signature .*revision:1, and this run has .*revision:2.*--rescore"
    ):
        lengths(data, out, revision=2)
    assert ((out / "_plan.json").read_bytes(), (out / "_SUCCESS").read_bytes()) == whole
    assert lengths(data, out, revision=2, told=told, rescore=True).summary.shards.skipped == 0
    assert any("signature differs: revision 1 → 2" in message for message in told.messages)


def test_a_bad_shard_is_set_aside_and_the_rest_is_scored(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pq.write_table(texts(3).drop_columns(["text"]), data / "lacks.parquet")
    pq.write_table(pa.table({"text": range(9)}), data / "numbers.parquet")  # found when its first window is scored
    (data / "torn.parquet").write_bytes((data / "a.parquet").read_bytes()[:-9])
    outcome = lengths(data, out)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.shards.failed) == (3, 2, 3)
    noted = {path.stem: json.loads(path.read_text()) for path in (out / "_failed").glob("*.json")}
    assert noted["lacks.parquet"]["message"] == "no column 'text'" and "torn.parquet" in noted
    assert noted["numbers.parquet"]["message"] == "column 'text' is int64" and not (out / "numbers.parquet").exists()
    assert not (out / "_SUCCESS").exists()


def test_limits_parts_and_lost_outputs_are_those_of_any_run(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert lengths(data, out, limit=7).summary.counts.rows.all == 7
    assert pq.read_table(out / "a.parquet").num_rows == 7
    both = tmp_path / "both"
    done = [lengths(data, both, part=(k, 2)).summary.shards.done for k in (1, 2)]
    assert done[1] == 2 and (both / "_SUCCESS").exists()
    assert pq.read_table(both / "a.parquet").num_rows == 25


def test_labels_of_earlier_outputs_are_refused(data: Path, tmp_path: Path) -> None:
    lengths(data, tmp_path / "before")
    with pytest.raises(UsageError, match="metric:text-length takes over no labels"):
        lengths(data, tmp_path / "out", reuse=(tmp_path / "before",))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("module", [driver, survey, totals, early_check, plan_file])
def test_a_run_imports_neither_the_metric_nor_a_model(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names
    own = ("inference", "metric", "scoring.scorer", "scoring.metric_rows", "scoring.pipeline", "scoring.settings")
    assert not [name for name in names if name.startswith(own)]


def test_a_resume_elsewhere_is_refused_unless_all_is_scored_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    lengths(data, out)
    receipt = next(iter(sorted((out / "_receipts").rglob("*.json"))))
    before = {path: path.read_bytes() for path in (out / "_receipts").rglob("*.json")}
    monkeypatch.setattr(TextLengths, "origin", Origin(Device("cpu", "another"), "", 0.0, 0.0))
    assert lengths(data, out).summary.shards.skipped == len(before)  # nothing is scored, so nothing is mixed
    assert {path: path.read_bytes() for path in before} == before
    receipt.unlink()
    with pytest.raises(DeviceError, match=r"device: cpu → cpu another.*--rescore"):
        lengths(data, out)
    assert lengths(data, out, rescore=True).summary.shards.skipped == 0
    assert lengths(data, out).summary.shards.skipped == len(before)
