"""Shards with more text than an Arrow string column can hold: 2 GiB are where its offsets end.

Their texts are too long to be put through a model in a test. The run is a process of its own, which is this module, so
that its memory can be measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.commands.console import make_reporter
from scorer.run.driver import WINDOWS, run
from scorer.run.executors import Job, RunOptions
from scorer.run.inline import Inline
from scorer.scoring.settings import Settings
from tests.faults.harness import LIMIT_S, assert_equation, assert_nothing_half

SHOWN = 4
ENDS = ["pub.", "Mill", "Thai", "side"]


class Ends:
    """A model that is shown the last characters of each text."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: list[str], *pairs: Any) -> Any:
        return self._model.encode([text[-SHOWN:] for text in texts], *pairs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def main(data: str, out: str, bundle: str, window_bytes: str) -> None:
    """A run in this process whose model is shown ends; prints the peak of its memory in bytes."""
    scorer = Scorer(bundle)
    scorer.pipeline.model = Ends(scorer.engine)
    options = RunOptions((data,), Path(out), max_error_rate=1.0)
    opened = mock.patch("scorer.run.shard_scorer.OpenScorer", lambda *given: scorer)
    with opened, mock.patch.dict(WINDOWS, window_bytes=int(window_bytes)), make_reporter() as reporter:
        outcome = run(Inline(Job(Settings(bundle), options), reporter), reporter)
    # Not ru_maxrss: it includes that of the parent process.
    own = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
    print(json.dumps({"rows": msgspec.to_builtins(outcome.summary.rows), "own": own}))  # noqa: T201


def text(i: int, length: int) -> str:
    """A text of its own for each row, so that none is kept once for many."""
    return f"{i:09d} ".ljust(length - SHOWN, "x") + ENDS[i % 4]


def write_shard(path: Path, rows: int, length: int) -> None:
    """All rows in one row group, from chunks of a few."""
    chunks = []
    for start in range(0, rows, 16):
        numbers = range(start, min(start + 16, rows))
        texts, facts = [text(i, length) for i in numbers], [[ENDS[i % 3]] for i in numbers]
        chunks.append(pa.table({"id": numbers, "text": texts, "facts": facts}))
    pq.write_table(pa.concat_tables(chunks), path, row_group_size=rows, compression="zstd", use_dictionary=False)
    assert pq.read_metadata(path).num_row_groups == 1


def assert_scored(path: Path, rows: int, length: int, bundle: Path) -> None:
    """Every row once, in order, its text as it was, and the label that the last characters give."""
    with Scorer(bundle) as scorer:
        labels = [scorer.score_facts([ENDS[i % 3]], ENDS[i % 4]).fine for i in range(12)]
    assert len(set(labels)) == 4
    seen = 0
    for batch in pq.ParquetFile(path).iter_batches(batch_size=16, columns=["id", "text", "fine", "error"]):
        for row in batch.to_pylist():
            assert row == {"id": seen, "text": text(seen, length), "fine": labels[seen % 12], "error": None}
            seen += 1
    assert seen == rows


def much_text(tmp_path: Path, bundle: Path, rows: int, length: int, window_bytes: int) -> dict[str, int]:
    data, out = tmp_path / "a.parquet", tmp_path / "out"
    write_shard(data, rows, length)
    command = [sys.executable, "-m", __name__, str(data), str(out), str(bundle), str(window_bytes)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=10 * LIMIT_S)
    assert found.returncode == 0, found.stderr
    peaks: dict[str, int] = json.loads(found.stdout)
    assert peaks["rows"]["in"] == peaks["rows"]["scored"] == rows  # type: ignore[index]
    assert_nothing_half(out)
    assert_equation(out)
    assert_scored(out / "a.parquet", rows, length, bundle)
    return peaks


def test_many_times_the_byte_budget(tmp_path: Path, bundle: Path) -> None:
    much_text(tmp_path, bundle, rows=70, length=1 << 15, window_bytes=1 << 17)


@pytest.mark.slow
def test_more_text_than_offsets_of_32_bits_reach(tmp_path: Path, bundle: Path) -> None:
    rows, length = 2100, 1 << 20
    assert rows * length > 1 << 31
    peaks = much_text(tmp_path, bundle, rows, length, window_bytes=32 << 20)
    # A few windows of 32 MiB each, in some layouts each, in addition to what the program itself takes, which reads too.
    assert peaks["own"] < 5 << 28, peaks


if __name__ == "__main__":
    main(*sys.argv[1:])
