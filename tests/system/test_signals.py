"""A signal is never lost: an exception that something swallowed comes again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import pytest

from scorer.errors import MissingDependencyError
from scorer.system.waiting import Terminated, check_signals, signals_raise


def become_another_error() -> None:
    """As a library that was interrupted while it was loaded, and then seems not to be installed."""
    raise MissingDependencyError("it is not installed")


@pytest.mark.parametrize(
    ("number", "raised"),
    [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)],
)
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
