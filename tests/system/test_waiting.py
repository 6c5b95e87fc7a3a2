"""A wait ends with the work, with its error, or with Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import Future

import pytest

from scorer.system import waiting
from scorer.system.waiting import outcome, prompt_switching


@pytest.mark.parametrize("restarts", [False, True])
def test_ctrl_c_ends_a_wait_whatever_handler_there_is(restarts: bool) -> None:
    """With SA_RESTART the system would start an unlimited wait again."""
    never = Future[None]()
    signal.siginterrupt(signal.SIGINT, not restarts)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            outcome(never)
    finally:
        signal.siginterrupt(signal.SIGINT, True)


def test_a_time_out_of_the_work_is_its_outcome() -> None:
    """A socket's TimeoutError is the class that a wait's end has."""
    failed = Future[None]()
    failed.set_exception(TimeoutError("the store did not answer"))
    with pytest.raises(TimeoutError, match="did not answer"):
        outcome(failed)


def test_it_ticks_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOK_S", 0.01)
    slow, ticks = Future[int](), []

    def tick() -> None:
        ticks.append(None)
        if len(ticks) == 3:
            slow.set_result(7)

    assert outcome(slow, tick) == 7
    assert len(ticks) == 3


def test_the_switch_interval_is_restored_when_the_last_one_ends() -> None:
    before = sys.getswitchinterval()
    first, second = prompt_switching(), prompt_switching()
    first.__enter__()
    second.__enter__()
    assert sys.getswitchinterval() < before
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() < before
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == before
