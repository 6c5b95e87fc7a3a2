"""A wait ends with the work, with its error, or with Ctrl-C; who watches a process hears from it while it moves."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future

import pytest

from scorer.system.waiting import advance, limited, outcome, tell
from tests.processes import wait_until


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


def test_a_process_tells_while_it_moves_and_while_what_it_does_is_limited() -> None:
    told: list[None] = []
    tell(lambda: told.append(None), 0.01)

    def is_silent() -> bool:
        before = len(told)
        return not threading.Event().wait(0.1) and len(told) == before

    wait_until(is_silent, "it is not silent")
    before = len(told)
    advance()
    wait_until(lambda: len(told) > before, "it is silent")
    wait_until(is_silent, "it is not silent")
    before = len(told)
    with limited():
        wait_until(lambda: len(told) > before + 2, "it is silent")
    wait_until(is_silent, "it is not silent")
