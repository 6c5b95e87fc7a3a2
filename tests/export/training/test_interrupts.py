"""A training run saves its state on Ctrl-C and SIGTERM, and hears them no longer once it has ended."""

from __future__ import annotations

import os
import signal

import pytest

from export.training.train import interrupts_call


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_wish_to_stop_until_the_run_has_ended(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stopped = []
    with interrupts_call(lambda: stopped.append(number)):
        os.kill(os.getpid(), number)
    assert stopped == [number]
    assert signal.getsignal(number) == before
