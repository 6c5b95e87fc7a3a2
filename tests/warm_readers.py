"""Reader processes that serve one run after another, since starting one takes most of the time of a small run.

A run starts a reader process of its own and kills it at its end. Tests call hundreds of runs in this process; the
reader of one that ended is kept for the next. It has the same code, and serves many shards in any case. One that leaves
a request unanswered, reported that it ends, or was started in other surroundings, is not used again. Tests of the
reader itself use the fixture ``fresh_readers``; a test that starts ``scorer`` as a process has readers of its own.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from scorer.storage.reading import shards
from scorer.storage.reading.child import Child, EndedError, StalledError

MOST_IDLE = 4
FEW, LITTLE_S = 8, 1.0
"""Answers that a reader may still owe when its run lets go of it, and how long each may take."""


def _surroundings(memory_bytes: int) -> tuple[Any, ...]:
    """All that a reader takes over from the process that starts it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    try:
        folder = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        folder = ""
    limits = [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
    return memory_bytes, folder, tuple(sorted(environment.items())), *limits


class WarmReaders:
    """The idle readers of this process."""

    def __init__(self) -> None:
        self._idle: list[tuple[tuple[Any, ...], WarmReader]] = []
        # A reader is killed when the thread that started it ends, and threads of a run end with it.
        self._starter = ThreadPoolExecutor(1)

    def take(self, memory_bytes: int) -> WarmReader:
        """An idle reader of these surroundings, or a new one."""
        wanted = _surroundings(memory_bytes)
        for at, (found, reader) in enumerate(self._idle):
            if found == wanted:
                del self._idle[at]
                if reader.alive():
                    return reader
                reader.end_now()
                return self.take(memory_bytes)
        return self._starter.submit(partial(WarmReader, self, memory_bytes)).result()

    def keep(self, reader: WarmReader) -> None:
        """Keep a reader for the next run; the one that was idle for the longest time makes room."""
        self._idle.append((reader.surroundings, reader))
        if len(self._idle) > MOST_IDLE:
            self._idle.pop(0)[1].end_now()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Within this, each reader starts a process of its own, and no idle one is there."""
        self._end_idle()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shards, "Child", Child)
            yield

    def close(self) -> None:
        """End all idle readers."""
        self._end_idle()
        self._starter.shutdown()

    def _end_idle(self) -> None:
        while self._idle:
            self._idle.pop()[1].end_now()


class WarmReader(Child):
    """A reader that goes back to the idle ones at its end, if it has answered everything and can take more."""

    def __init__(self, kept_by: WarmReaders, memory_bytes: int) -> None:
        self.surroundings = _surroundings(memory_bytes)
        super().__init__(memory_bytes)
        self._kept_by = kept_by
        self._unanswered = 0
        self._ending = False

    def ask(self, request: dict[str, Any]) -> None:
        self._unanswered += 1
        super().ask(request)

    def hear(self, timeout_s: float) -> tuple[dict[str, Any], pa.Buffer]:
        header, payload = super().hear(timeout_s)
        if header["type"] in ("info", "end", "error"):
            self._unanswered -= 1
        if header["type"] == "error" and header["last"]:
            self._ending = True
        return header, payload

    def end(self) -> None:
        with suppress(EndedError, StalledError):
            for _ in range(FEW):
                if not self._unanswered or self._listening.locked():  # another thread waits for an answer
                    break
                self.hear(LITTLE_S)  # a run looks at the first window of its first shard only, before it begins
        if self._unanswered or self._ending or not self.alive():
            self.end_now()
        else:
            self._kept_by.keep(self)

    def end_now(self) -> None:
        """Kill the process, as the end of a run does."""
        super().end()


@contextmanager
def kept_warm() -> Iterator[WarmReaders]:
    """Within this, runs in this process share readers."""
    readers = WarmReaders()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "Child", readers.take)
        try:
            yield readers
        finally:
            readers.close()
