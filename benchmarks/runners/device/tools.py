"""Shared by the questions: pairs of given lengths, and what native code prints."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from scorer.inference.batches import Batch, Feed
from scorer.inference.calibrate import work_of
from scorer.inference.engine import Engine


def full_call(engine: Engine, length: int) -> tuple[Feed, Batch]:
    """The inputs of a call as full as the engine's budget allows, of one pair of this length over and over."""
    work = work_of(engine, [length])
    batch = engine.layout.full(work.lengths, np.zeros(1, np.int64))
    return next(engine.feeds(replace(work, batches=[batch]))), batch


def timed(call: Callable[[], Any]) -> float:
    """Seconds of a call. The runtime waits for the device before it returns."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@contextmanager
def printed() -> Iterator[list[str]]:
    """The lines that anything in this process prints meanwhile, native code included; filled in at the end."""
    lines: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield lines
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            ctypes.CDLL(None).fflush(None)  # C's own buffer, which is written late where stdout is a file
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()
