"""Who watches a process hears from it while it moves, and while a request with a limit of its own lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from scorer.system.progress import advance, limited, tell

_LIMIT_S = 60.0


def test_a_process_tells_while_it_moves_and_while_what_it_does_is_limited() -> None:
    told: list[None] = []
    tell(lambda: told.append(None), 0.01)

    def wait(done: Callable[[], bool]) -> None:
        until = time.monotonic() + _LIMIT_S
        while not done():
            assert time.monotonic() < until
            time.sleep(0.01)

    def is_silent() -> bool:
        before = len(told)
        return not threading.Event().wait(0.1) and len(told) == before

    wait(is_silent)
    before = len(told)
    advance()
    wait(lambda: len(told) > before)
    wait(is_silent)
    before = len(told)
    with limited():
        wait(lambda: len(told) > before + 2)
    wait(is_silent)
