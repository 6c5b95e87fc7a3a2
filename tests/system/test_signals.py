"""SIGTERM is never lost: an exception that something swallowed comes again."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from scorer.errors import MissingDependencyError
from scorer.system.signals import Terminated, check_terminated, sigterm_raises


def receive() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_one_that_was_swallowed_comes_again() -> None:
    with pytest.raises(Terminated), sigterm_raises():
        with suppress(Terminated):
            receive()
        check_terminated()
        raise AssertionError


def test_a_context_that_goes_on_to_its_end_ends_with_it() -> None:
    with pytest.raises(Terminated), sigterm_raises(), suppress(Terminated):
        receive()


def test_an_error_that_it_became_is_not_that_error() -> None:
    """As a library that was interrupted while it was loaded, and then seems not to be installed."""
    with pytest.raises(Terminated) as caught, sigterm_raises():
        with suppress(Terminated):
            receive()
        raise MissingDependencyError("it is not installed")
    assert isinstance(caught.value.__cause__, MissingDependencyError)


def test_without_one_nothing_is_raised_and_the_next_context_starts_fresh() -> None:
    with pytest.raises(Terminated), sigterm_raises():
        receive()
    with sigterm_raises():
        check_terminated()
    check_terminated()
