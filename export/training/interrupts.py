"""Ctrl-C and SIGTERM as a wish to stop, for a training run that saves its state first."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_call(stop: Callable[[], None]) -> Iterator[None]:
    """In this context both signals call `stop` and raise nothing; afterwards they do what they did before."""
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
