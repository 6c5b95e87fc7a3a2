"""A run drives any row scorer: another metric has the same plan, receipts, resuming and quarantined shards.

The row scorer here counts the characters of a text. It knows no model, triples or labels.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.errors import ColumnError, DeviceError, OutputError, UsageError
from scorer.run.driver import run
from scorer.run.options import Outcome, RunOptions
from scorer.run.status import status_of
from scorer.scoring.origin import Device, Origin
from scorer.scoring.plain_rows import PlainRows
from scorer.scoring.plan import Budgets
from scorer.scoring.signature import Signature
from scorer.scoring.windows import ScoredWindow, Tag, Window
from scorer.storage import Counts, Receipts, RunOutput, SeenOutput, ShardReader, lease
from scorer.storage.counts import RowCounts
from scorer.storage.location import Location
from scorer.storage.output import open_store
from tests.storage.backends import data_files, files, put, remove

TEXT = SimpleNamespace(needed=("text",), keeps_all=False, shape={"text": "text"}, invalid_rows=lambda table: None)
"""The column of texts, which alone is read and kept."""


class TextLengths(PlainRows[Any]):
    """Adds the column ``length``; a null text is an error row."""

    def score(self, window: Window[Tag, Any]) -> ScoredWindow[Tag]:
        texts = window.table["text"]
        if not pa.types.is_string(texts.type):
            raise ColumnError(f"column 'text' is {texts.type}")
        table = window.table.append_column("length", pc.utf8_length(texts))
        errors = {"null_text": texts.null_count} if texts.null_count else {}
        return ScoredWindow(window.tag, table, Counts(RowCounts(len(texts), len(texts) - texts.null_count, 0, errors)))


@dataclass(frozen=True)
class TextLengthScoring:
    revision: int = 1

    def find_columns(self, schema: pa.Schema) -> Any:
        if "text" not in schema.names:
            raise ColumnError("no column 'text'")
        return TEXT

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[TextLengths]:
        yield TextLengths(Signature(f"metric:text-length|revision:{self.revision}"))

    def to_plan(self) -> Mapping[str, object]:
        return {"text": "text"}


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


def lengths(data: Path, out: Location, revision: int = 1, told: Told | None = None, **more: Any) -> Outcome:
    options = RunOptions((str(data),), out, max_error_rate=0.5, window_rows=4, **more)
    return run(options, TextLengthScoring(revision=revision), told or Told())


def table_of(out: Location, name: str) -> pa.Table:
    return pq.read_table(pa.BufferReader(files(out)[name]))


def receipts(out: Location) -> dict[str, bytes]:
    return {name: content for name, content in files(out).items() if name.startswith("_receipts")}


def test_shards_have_columns_signature_and_receipts(data: Path, target: Location) -> None:
    outcome = lengths(data, target)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.counts.rows.all) == (0, 2, 30)
    found = files(target)
    assert outcome.summary.counts.rows.errors == {"null_text": 4} and "_SUCCESS" in found
    for name, rows in (("a.parquet", 25), ("deep/b.parquet", 5)):
        table = table_of(target, name)
        assert table.schema.names == ["text", "length"]
        assert table["length"].to_pylist() == [None if i % 10 == 3 else i for i in range(rows)]
        assert table.schema.metadata[b"d2t_scorer.signature"] == b"metric:text-length|revision:1"
        receipt = json.loads(found[f"_receipts/{name}.json"])
        assert receipt["output"]["sha256"] == hashlib.sha256(found[name]).hexdigest()
        assert receipt["fingerprint"]["columns"] == {"text": "text"}
    plan = json.loads(found["_plan.json"])
    assert plan["settings"] == {"text": "text"} and set(plan["inputs"]) == {"a.parquet", "deep/b.parquet"}
    assert (plan["budgets"]["window_rows"], plan["budgets"]["first_rows"]) == (4, [1024, 4096])
    status = status_of(target)
    assert (status.finished, status.done, status.planned, status.holders) == (True, 2, 2, ())


def test_the_bytes_are_those_of_any_other_place(data: Path, target: Location, tmp_path: Path) -> None:
    """Through parts, a limit, a resume, and after damage."""
    lengths(data, tmp_path / "whole")
    whole = data_files(tmp_path / "whole")
    assert lengths(data, target, limit=7).summary.counts.rows.all == 7
    assert [lengths(data, target, part=(k, 2)).exit_code for k in (1, 2)] == [0, 0]
    assert data_files(target) == whole and status_of(target).finished
    remove(target, "_receipts/a.parquet.json")
    put(target, "deep/b.parquet", b"other bytes")
    assert lengths(data, target).summary.shards.skipped == 0 and data_files(target) == whole
    before = receipts(target)
    assert lengths(data, target).summary.shards.skipped == 2
    assert receipts(target) == before, "nothing was left to do"


def test_a_resume_cuts_the_first_windows_as_its_plan_says(data: Path, target: Location) -> None:
    lengths(data, target)
    content = json.loads(files(target)["_plan.json"])
    content["budgets"]["first_rows"] = [1, 2]
    put(target, "_plan.json", json.dumps(content).encode())
    remove(target, "_receipts/a.parquet.json")

    class Windows(Told):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[int] = []

        def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
            self.rows += [rows] if shard == "a.parquet" and rows else []

    told = Windows()
    lengths(data, target, told=told)
    assert told.rows == [1, 2, 4, 4, 4, 4, 4, 2]
    assert json.loads(files(target)["_plan.json"])["budgets"] == content["budgets"]


def test_a_resume_does_what_is_left_and_a_new_revision_everything(data: Path, target: Location) -> None:
    lengths(data, target)
    before, entry = files(target), open_store(target).look("a.parquet")
    remove(target, "_receipts/deep/b.parquet.json")
    again = lengths(data, target).summary
    assert (again.shards.skipped, again.computed_now, again.counts.rows.all) == (1, 5, 30)
    assert open_store(target).look("a.parquet") == entry
    whole = files(target)
    assert whole["deep/b.parquet"] == before["deep/b.parquet"]
    says = r"under the signature .*revision:1, and this run has .*revision:2.*--rescore"
    with pytest.raises(OutputError, match=says):
        lengths(data, target, revision=2)
    assert files(target) == whole
    told = Told()
    assert lengths(data, target, revision=2, told=told, rescore=True).summary.shards.skipped == 0
    assert any("signature differs: revision 1 → 2" in message for message in told.messages)
    for name in data_files(target):
        put(target, name, b"damaged")  # so that it has no labels to lose
    assert lengths(data, target, revision=3).exit_code == 0


def test_a_bad_shard_is_set_aside_and_the_rest_is_scored(data: Path, target: Location) -> None:
    pq.write_table(texts(3).drop_columns(["text"]), data / "lacks.parquet")
    pq.write_table(pa.table({"text": range(9)}), data / "numbers.parquet")  # found when its first window is scored
    (data / "torn.parquet").write_bytes((data / "a.parquet").read_bytes()[:-9])
    outcome = lengths(data, target)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.shards.failed) == (3, 2, 3)
    found = files(target)
    noted = {name: json.loads(content) for name, content in found.items() if name.startswith("_failed/")}
    assert noted["_failed/lacks.parquet.json"]["message"] == "no column 'text'" and "_failed/torn.parquet.json" in noted
    assert noted["_failed/numbers.parquet.json"]["message"] == "column 'text' is int64"
    assert "numbers.parquet" not in found and "_SUCCESS" not in found


def test_a_shard_of_which_rows_do_not_arrive_is_set_aside(
    data: Path, target: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ShardReader.windows
    monkeypatch.setattr(ShardReader, "windows", lambda *given, **more: list(real(*given, **more))[:-1])
    outcome = lengths(data, target)
    assert (outcome.exit_code, outcome.summary.shards.failed) == (3, 2) and data_files(target) == {}
    assert b"read 24 rows, but its footer says 25" in files(target)["_failed/a.parquet.json"]


def test_a_touched_input_is_not_scored_again_and_one_of_other_content_is(data: Path, target: Location) -> None:
    """One byte of a text differs: size and footer are the same."""
    path = data / "a.parquet"
    pq.write_table(texts(25), path, compression="none", use_dictionary=False, write_statistics=False)
    lengths(data, target)
    before, entry = files(target), open_store(target).look("a.parquet")
    os.utime(path, ns=(1, 2))
    assert lengths(data, target).summary.shards.skipped == 2
    found = files(target)
    assert {name for name in receipts(target) if found[name] != before[name]} == {"_receipts/a.parquet.json"}
    receipt = json.loads(found["_receipts/a.parquet.json"])
    assert receipt["input"]["identity"]["mtime_ns"] == 2  # so the next run need not read the file
    assert open_store(target).look("a.parquet") == entry and {"_SUCCESS", "_run.json"} <= found.keys()
    content = path.read_bytes()
    at = content.index(b"x" * 24)
    path.write_bytes(content[:at] + b"y" + content[at + 1 :])
    os.utime(path, ns=(1, 3))
    told = Told()
    assert lengths(data, target, told=told).summary.shards.skipped == 1
    assert any("its input changed: mtime_ns: a.parquet" in message for message in told.messages)
    assert table_of(target, "a.parquet")["text"].to_pylist()[-1] == "y" + "x" * 23
    # Without the content in its receipt, as of an input in a store, the time decides.
    kept = SeenOutput(target).receipts.read("a.parquet")
    assert kept is not None
    Receipts(open_store(target)).write(replace(kept, input=replace(kept.input, content=None)))
    os.utime(path, ns=(1, 4))
    assert lengths(data, target).summary.shards.skipped == 1


def test_a_run_is_refused_while_another_holds_the_output(
    data: Path, target: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.05)
    monkeypatch.setattr(lease, "EXPIRY_S", 0.4)
    with RunOutput.open(target, create=True):
        for part in (None, (1, 2)):
            with pytest.raises(OutputError, match=rf"is held by another run \(pid {os.getpid()} "):
                lengths(data, target, part=part)
    assert lengths(data, target).exit_code == 0


def test_labels_of_earlier_outputs_are_refused(data: Path, tmp_path: Path) -> None:
    lengths(data, tmp_path / "before")
    with pytest.raises(UsageError, match="metric:text-length takes over no labels"):
        lengths(data, tmp_path / "out", reuse=(tmp_path / "before",))
    assert not (tmp_path / "out").exists()


def test_a_resume_elsewhere_is_refused_unless_all_is_scored_again(
    data: Path, target: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths(data, target)
    before = receipts(target)
    monkeypatch.setattr(TextLengths, "origin", Origin(Device("cpu", "another"), "", 0.0, 0.0))
    assert lengths(data, target).summary.shards.skipped == len(before)  # nothing is scored, so nothing is mixed
    assert receipts(target) == before
    remove(target, next(iter(before)))
    with pytest.raises(DeviceError, match=r"device: cpu → cpu another.*--rescore"):
        lengths(data, target)
    assert lengths(data, target, rescore=True).summary.shards.skipped == 0
    assert lengths(data, target).summary.shards.skipped == len(before)
