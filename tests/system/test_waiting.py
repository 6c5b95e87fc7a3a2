"""A wait ends with the work, with its error, or with Ctrl-C; who watches a process hears from it while it moves."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import pytest

from scorer.errors import MissingDependencyError
from scorer.system.waiting import (
    Terminated,
    check_signals,
    note_progress,
    report_progress,
    result_of,
    signals_raise,
    without_hang_limit,
)
from tests.processes import wait_until


@pytest.mark.parametrize("restarts", [False, True])
def test_ctrl_c_ends_a_wait_whatever_handler_there_is(restarts: bool) -> None:
    """With SA_RESTART the system would start an unlimited wait again."""
    never = Future[None]()
    signal.siginterrupt(signal.SIGINT, not restarts)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            result_of(never)
    finally:
        signal.siginterrupt(signal.SIGINT, True)


def test_a_time_out_of_the_work_is_its_outcome() -> None:
    """A socket's TimeoutError is the class that a wait's end has."""
    failed = Future[None]()
    failed.set_exception(TimeoutError("the store did not answer"))
    with pytest.raises(TimeoutError, match="did not answer"):
        result_of(failed)


def test_a_process_tells_while_it_moves_and_while_what_it_does_is_limited() -> None:
    told: list[None] = []
    report_progress(lambda: told.append(None), 0.01)

    def is_silent() -> bool:
        before = len(told)
        return not threading.Event().wait(0.1) and len(told) == before

    wait_until(is_silent, "it is not silent")
    before = len(told)
    note_progress()
    wait_until(lambda: len(told) > before, "it is silent")
    wait_until(is_silent, "it is not silent")
    before = len(told)
    with without_hang_limit():
        wait_until(lambda: len(told) > before + 2, "it is silent")
    wait_until(is_silent, "it is not silent")


def become_another_error() -> None:
    """As a library that was interrupted while it was loaded, and then seems not to be installed."""
    raise MissingDependencyError("it is not installed")


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
@pytest.mark.parametrize("goes_on", [check_signals, lambda: None, become_another_error])
def test_one_that_was_swallowed_comes_again(
    number: int, raised: type[BaseException], goes_on: Callable[[], None]
) -> None:
    with pytest.raises(raised) as caught, signals_raise():
        with suppress(raised):
            os.kill(os.getpid(), number)
        goes_on()
    assert isinstance(caught.value.__cause__, MissingDependencyError) == (goes_on is become_another_error)
    with signals_raise():  # the next one starts afresh
        check_signals()
    check_signals()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored() -> None:
    """`nohup scorer run … &`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals_raise():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
