from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import EncodedPairs, Engine, Predictions
from scorer.inference.verification import open_engine
from scorer.metric import ColumnNames
from scorer.metric.inputs import find_columns
from scorer.scoring.pipeline import Pipeline, ScoredWindow, Window, prefetch
from scorer.scoring.summary import total
from scorer.storage.receipts import Counts, FactCounts, PredicateCounts, RowCounts
from tests.processes import wait_until


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Iterator[Engine]:
    with open_engine(Bundle.load(tiny), device="cpu", precision="fp32") as opened:
        yield opened


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


def test_leaving_early_stops_the_model_between_batches(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    began, stopped, predict = list[EncodedPairs](), list[EncodedPairs](), engine.predict

    def endless(work: EncodedPairs, stop: threading.Event | None = None) -> Predictions:
        """The first window is computed at once, the second once it is told to stop."""
        began.append(work)
        if len(began) > 1:
            assert stop is not None and stop.wait(60)
            stopped.append(work)
        return predict(work, stop)

    monkeypatch.setattr(engine, "predict", endless)
    running = Pipeline(engine).stream(items([table(5, i) for i in range(4)]))
    next(running)
    running.close()
    wait_for_threads()
    assert len(began) == len(stopped) + 1 <= 2
    assert all(work.computed_tokens == 0 for work in stopped)


def wait_for_threads() -> None:
    names = ("prepare", "infer")
    wait_until(lambda: not any(t.name.startswith(names) for t in threading.enumerate()), "threads are left")


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def numbers(count: int, closed: list[str]) -> Generator[int, None, None]:
    try:
        yield from range(count)
    finally:
        closed.append(threading.current_thread().name)


def test_results_come_in_order_and_the_source_is_closed_in_its_thread() -> None:
    closed: list[str] = []
    first = prefetch(lambda number: number + 1, numbers(50, closed), name="first")
    assert list(prefetch(str, first, name="second")) == [str(number + 1) for number in range(50)]
    assert closed == ["first"]


def test_an_error_is_raised_where_its_result_would_have_come() -> None:
    def fail(number: int) -> int:
        if number == 5:
            raise ValueError(number)
        return number

    found: list[int] = []
    with pytest.raises(ValueError, match="5"):
        for number in prefetch(fail, iter(range(10)), name="one"):
            found.append(number)
    assert found == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="5"):
        list(prefetch(str, prefetch(fail, iter(range(10)), name="one"), name="two"))


def test_leaving_early_ends_the_threads() -> None:
    closed: list[str] = []
    stream = prefetch(str, prefetch(abs, numbers(1000, closed), name="one"), name="two")
    assert [next(stream) for _ in range(3)] == ["0", "1", "2"]
    stream.close()
    assert closed == ["one"]


def test_stop_ends_a_source_that_waits_for_others() -> None:
    """As that of a worker, whose next shard comes from the driver."""
    ended = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        ended.wait(60)

    stream = prefetch(str, prefetch(abs, source(), name="one"), name="two", stop=ended.set)
    assert next(stream) == "1"
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 5
