from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import EncodedPairs, Engine, Predictions
from scorer.inference.verification import open_engine
from scorer.metric import ColumnNames
from scorer.metric.inputs import find_columns
from scorer.scoring.pipeline import Pipeline, ScoredWindow, Window
from scorer.scoring.summary import total
from scorer.storage.receipts import Counts, FactCounts, PredicateCounts, RowCounts
from tests.processes import wait_until

Watch = Callable[[Callable[[EncodedPairs, threading.Event | None], object]], Pipeline]


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Iterator[Engine]:
    with open_engine(Bundle.load(tiny), device="cpu", precision="fp32") as opened:
        yield opened


@pytest.fixture
def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """A pipeline; what it is made with is called before each window is computed."""
    predict = engine.predict

    def watch(before: Callable[[EncodedPairs, threading.Event | None], object]) -> Pipeline:
        def watched(work: EncodedPairs, stop: threading.Event | None = None) -> Predictions:
            before(work, stop)
            return predict(work, stop)

        monkeypatch.setattr(engine, "predict", watched)
        return Pipeline(engine)

    return watch


def table(n: int, start: int = 0) -> pa.Table:
    rows = range(start, start + n)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "mr": [f"name[N{i % 7}], food[f{i % 3}]" for i in rows],
            "text": [None if i % 11 == 5 else "" if i % 11 == 6 else f"N{i % 7} has f{i % 4}" for i in rows],
        }
    )


def items(windows: list[pa.Table]) -> Iterator[Window]:
    for i, window in enumerate(windows):
        yield Window(i, window, find_columns(window.schema, ColumnNames()))


def test_rows_and_counts_are_the_same_whatever_the_windows(engine: Engine) -> None:
    def scored(size: int) -> tuple[pa.Table, Counts]:
        windows = [whole.slice(i, size) for i in range(0, 60, size)]
        found: list[Any] = list(Pipeline(engine).stream(items(windows)))
        return pa.concat_tables([one.table for one in found]).unify_dictionaries(), total([one.counts for one in found])

    whole = table(60)
    expected, counts = scored(60)
    assert expected["id"].to_pylist() == list(range(60))
    assert counts.rows == RowCounts(60, 55, 0, {"null_text": 5}, {"empty_text": 5})
    assert sum(counts.labels.values()) == counts.rows.scored
    assert counts.facts == FactCounts(0, 60, {"food": PredicateCounts(0, 60)})
    assert counts.checks.all == 2 * (60 - 5 - 5)
    for size in (1, 7, 33):
        found, many = scored(size)
        assert found.equals(expected)
        assert (many.rows, many.labels, many.facts) == (counts.rows, counts.labels, counts.facts)
        assert many.checks.all == counts.checks.all
        assert many.checks.unique >= counts.checks.unique


def test_marks_travel_in_their_place(engine: Engine) -> None:
    (one, other), ends = items([table(3)] * 2), [object(), object()]
    seen = list(Pipeline(engine).stream([one, ends[0], other, ends[1]]))
    assert [each.tag if isinstance(each, ScoredWindow) else each for each in seen] == [0, ends[0], 1, ends[1]]
    assert list(Pipeline(engine).stream([])) == []


def test_leaving_early_stops_the_model_between_batches(watched: Watch) -> None:
    began, stopped = [], []

    def endless(work: EncodedPairs, stop: threading.Event | None) -> None:
        """The first window is computed at once, the second once it is told to stop."""
        began.append(work)
        if len(began) > 1:
            assert stop is not None and stop.wait(60)
            stopped.append(work)

    running = watched(endless).stream(items([table(5, i) for i in range(4)]))
    next(running)
    running.close()
    wait_for_threads()
    assert len(began) == len(stopped) + 1 <= 2
    assert all(work.computed_tokens == 0 for work in stopped)


def wait_for_threads() -> None:
    names = ("prepare", "infer")
    wait_until(lambda: not any(t.name.startswith(names) for t in threading.enumerate()), "threads are left")
