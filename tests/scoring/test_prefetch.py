"""Running ahead in a thread: results and errors in their place, and no thread left however the iteration ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

import pytest

from scorer.scoring.pipeline import prefetch


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
