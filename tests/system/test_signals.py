"""A signal is never lost: an exception that something swallowed comes again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from scorer.errors import MissingDependencyError
from scorer.system.signals import Terminated, check_signals, signals_raise

Case = tuple[type[BaseException], Callable[[], None]]
SIGNALS = ((signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt))


@pytest.fixture(params=SIGNALS, ids=("SIGTERM", "SIGINT"))
def case(request: pytest.FixtureRequest) -> Case:
    """The exception of the signal, and a call that receives it."""
    number, raised = request.param
    return raised, partial(os.kill, os.getpid(), number)


def test_one_that_was_swallowed_comes_again(case: Case) -> None:
    raised, receive = case
    with pytest.raises(raised), signals_raise():
        with suppress(raised):
            receive()
        check_signals()
        raise AssertionError


def test_a_context_that_goes_on_to_its_end_ends_with_it(case: Case) -> None:
    raised, receive = case
    with pytest.raises(raised), signals_raise(), suppress(raised):
        receive()


def test_an_error_that_it_became_is_not_that_error(case: Case) -> None:
    """As a library that was interrupted while it was loaded, and then seems not to be installed."""
    raised, receive = case
    with pytest.raises(raised) as caught, signals_raise():
        with suppress(raised):
            receive()
        raise MissingDependencyError("it is not installed")
    assert isinstance(caught.value.__cause__, MissingDependencyError)


def test_without_one_nothing_is_raised_and_the_next_context_starts_fresh(case: Case) -> None:
    raised, receive = case
    with pytest.raises(raised), signals_raise():
        receive()
    with signals_raise():
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
