"""Run a function ahead of its caller in a thread of its own: all the concurrency of scoring."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from ..system.waiting import check_signals

STUCK_SECONDS = 5.0
_LOOK_SECONDS = 1.0
Item = TypeVar("Item")
Result = TypeVar("Result")


def prefetch(
    function: Callable[[Item], Result],
    source: Iterable[Item],
    *,
    name: str,
    stop: Callable[[], None] = lambda: None,
) -> Generator[Result, None, None]:
    """The results of ``function`` for the items of ``source``, in order, at most one of them ahead of the caller.

    An error of either is raised where its result would have come. When the caller closes this generator early,
    ``stop`` is called: it makes a call in progress return, and a source that waits for others end. The thread closes a
    generator that is its source, and has ended when this generator has, so that what it used may be closed; only one
    that is stuck for :data:`STUCK_SECONDS` is left behind.

    Args:
        name: of the thread.
    """
    results: queue.Queue[tuple[Result | None, BaseException | None, bool]] = queue.Queue(1)
    cancelled = threading.Event()
    items: Iterator[Item] = iter(source)

    def work() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                results.put((function(item), None, False))
                if cancelled.is_set():
                    break
        except BaseException as raised:
            error = raised
        try:
            if isinstance(items, Generator):
                items.close()
        except BaseException as raised:
            error = error or raised
        results.put((None, error, True))

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        while True:
            # Limited and repeated: a library may install a handler of SIGINT with SA_RESTART, and an unlimited wait
            # would never see the signal.
            try:
                result, error, is_end = results.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                check_signals()
                continue
            if error is not None:
                raise error
            if is_end:
                return
            yield result  # type: ignore[misc]  # there is one where there is no error and no end
    finally:
        cancelled.set()
        if thread.is_alive():
            stop()
        deadline = time.monotonic() + STUCK_SECONDS
        while thread.is_alive() and time.monotonic() < deadline:
            _drain(results)  # a thread that waits for room goes on, and sees that it is cancelled
            thread.join(0.02)


def _drain(results: queue.Queue[Result]) -> None:
    while not results.empty():
        results.get_nowait()
