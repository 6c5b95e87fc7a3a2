from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from scorer.inference.batches import Batch, distinct_pairs
from scorer.inference.engine import Answers, Work
from scorer.inference.texts import Tokens
from scorer.metric.inputs import ColumnNames, find_columns
from scorer.scoring.counts import total
from scorer.scoring.pipeline import Pipeline
from scorer.scoring.windows import Mark, ScoredWindow, Window
from scorer.storage.counts import Counts, FactCounts, PredicateCounts, RowCounts
from tests.processes import wait_until


@dataclass
class Standin:
    """A model without a model: entailed when the hypothesis shares its last word with the premise."""

    log: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def prepare(self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]) -> Work:
        self.log.append("prepare")
        tokens = Tokens(np.zeros(len(texts), np.int32), np.arange(len(texts) + 1), np.zeros(len(texts), bool))
        pairs = distinct_pairs(premise, hypothesis, tokens, tokens)
        n = len(pairs)
        work = Work(
            pairs, tokens, tokens, np.zeros(n, np.int8), np.zeros(n, bool), [Batch(np.arange(n), 8)], np.full(n, 6)
        )
        work.texts = texts  # type: ignore[attr-defined]  # the stand-in carries its strings along
        return work

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        self.log.append("run")
        texts: list[str] = work.texts  # type: ignore[attr-defined]  # see above
        entailed = np.array(
            [
                set(texts[h].rstrip(".").split()[-1:]) <= set(texts[p].rstrip(".").split())
                for p, h in zip(work.pairs.first.tolist(), work.pairs.second.tolist(), strict=True)
            ],
            bool,
        )
        probabilities = np.where(entailed[:, None], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]).astype(np.float32)
        inverse = work.pairs.inverse
        return Answers(probabilities[inverse], work.status[inverse], work.truncated[inverse])

    def give_up(self) -> None:
        """Nothing here takes long."""


def table(n: int, start: int = 0) -> pa.Table:
    rows = range(start, start + n)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "mr": [f"name[N{i % 7}], food[f{i % 3}]" for i in rows],
            "text": [None if i % 11 == 5 else "" if i % 11 == 6 else f"N{i % 7} has f{i % 4}" for i in rows],
        }
    )


def items(windows: list[pa.Table]) -> Iterator[Window[int]]:
    for i, window in enumerate(windows):
        yield Window(i, window, find_columns(window.schema, ColumnNames()))


def scored(windows: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([window.table for window in stream(Pipeline(Standin()), items(windows))])


def stream(pipeline: Pipeline, windows: Iterator[Window[int]]) -> list[ScoredWindow[int]]:
    found = list(pipeline.stream(windows))
    assert all(isinstance(one, ScoredWindow) for one in found)
    return found  # type: ignore[return-value]  # as just asserted


def test_rows_come_back_in_order_whatever_the_windows() -> None:
    whole = table(100)
    expected = scored([whole])
    assert expected["id"].to_pylist() == list(range(100))
    for size in (1, 7, 33):
        windows = [whole.slice(i, size) for i in range(0, 100, size)]
        assert scored(windows).unify_dictionaries().equals(expected.unify_dictionaries())


def test_marks_travel_in_their_place() -> None:
    window = table(3)
    columns = find_columns(window.schema, ColumnNames())
    ends = [Mark(), Mark()]
    sequence = [Window("a", window, columns), ends[0], Window("b", window, columns), ends[1]]
    seen = list(Pipeline(Standin()).stream(sequence))
    assert [one.tag if isinstance(one, ScoredWindow) else one for one in seen] == ["a", ends[0], "b", ends[1]]
    assert list(Pipeline(Standin()).stream([])) == []


def test_the_model_has_the_next_window_before_a_shard_ends() -> None:
    """The first window is answered once the next one, behind a mark, is with the model."""
    window = table(3)
    columns = find_columns(window.schema, ColumnNames())
    handed = threading.Event()

    class Slow(Standin):
        def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
            assert handed.wait(60)
            return super().run(work, stop)

    def source() -> Iterator[Window[str] | Mark]:
        yield Window("a", window, columns)
        yield Mark()
        yield Window("b", window, columns)
        handed.set()  # asked for what follows, so that the window before went on

    assert len(list(Pipeline(Slow()).stream(source()))) == 3


class HalfwayStandin(Standin):
    """Computes half of a window's tokens, and goes on once that was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        work.computed_tokens = work.padded_tokens // 2
        assert self.told.wait(60)
        return super().run(work, stop)


def test_progress_within_a_window_is_told_in_rows() -> None:
    model, told = HalfwayStandin(), []

    def tick(tag: int, rows: float) -> None:
        told.append((tag, rows))
        model.told.set()

    list(Pipeline(model).stream(items([table(10)]), tick=tick))
    assert told == [(0, 5.0)]


def test_an_error_in_the_source_comes_out_and_ends_the_threads() -> None:
    def broken() -> Iterator[Window[int]]:
        yield from items([table(5)])
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        list(Pipeline(Standin()).stream(broken()))
    wait_for_threads()


class EndlessStandin(Standin):
    """Answers its first window at once, and is at the second until it is told to stop."""

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        answers = super().run(work, stop)
        if self.log.count("run") > 1:
            assert stop is not None and stop.wait(60)
            self.log.append("stopped")
            raise CancelledError
        return answers


def test_leaving_early_stops_the_model_between_batches() -> None:
    model = EndlessStandin()
    running = Pipeline(model).stream(items([table(5, i) for i in range(4)]))
    next(running)
    running.close()
    wait_for_threads()
    assert model.log.count("run") == model.log.count("stopped") + 1 <= 2


def wait_for_threads() -> None:
    names = ("prepare", "infer")
    wait_until(lambda: not any(t.name.startswith(names) for t in threading.enumerate()), "threads are left")


def test_counts_of_windows_add_up_to_those_of_the_whole() -> None:
    whole = table(60)
    pipeline = Pipeline(Standin())

    def count(windows: list[pa.Table]) -> Counts:
        return total([window.counts for window in stream(pipeline, items(windows))])

    one, many = count([whole]), count([whole.slice(i, 20) for i in range(0, 60, 20)])
    assert one.rows == RowCounts(60, 55, 0, {"null_text": 5}, {"empty_text": 5})
    assert sum(one.labels.values()) == one.rows.scored
    assert one.facts == FactCounts(0, 60, {"food": PredicateCounts(0, 60)})
    assert (one.rows, one.labels, one.facts) == (many.rows, many.labels, many.facts)
    assert one.checks.all == many.checks.all == 2 * (60 - 5 - 5)
    assert one.checks.unique <= many.checks.unique
