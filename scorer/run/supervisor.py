"""Worker processes of one machine (``--devices``): started, listened to, started once more, and ended together.

A worker writes lines of JSON to its standard output (:mod:`.events`). What workers have in common is the output folder,
so nothing is lost when one dies: another one takes its shards over. This process never loads a model.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import OutputError, ScorerError
from ..scoring.summary import RunSummary
from ..storage.objects.uri import Location
from ..storage.open_joined import read_run
from ..system.closing import Closing
from ..system.signals import sigterm_raises
from .devices import Slot
from .events import Ended
from .options import Outcome, Reporter
from .relay import EventLines, Relay
from .worker_process import end_of, send_request, start_process

_STARTS = 2
"""A worker that dies is started once more."""
_GRACE_S = 10.0
"""After SIGTERM, how long a worker may take to give its shards back."""


def supervise(
    out: Location, slots: Sequence[Slot], module: str, request: Callable[[Slot], bytes], reporter: Reporter
) -> Outcome:
    """Run a worker for each slot until the run ends.

    Args:
        module: run as ``python -m`` with the request on its standard input.
        request: what a worker is told.

    Raises:
        ScorerError: no worker came to the end of the run.
        Terminated, KeyboardInterrupt: interrupted; all workers have ended.
    """
    with sigterm_raises(), _Workers(slots, module, request, Relay(reporter)) as workers:
        ended = workers.listen()
    if ended is None:
        raise ScorerError(f"{out}: no worker came to the end of the run: {workers.why}; the same command resumes")
    summary = RunSummary.parse(read_run(out), str(out))
    if summary is None:
        raise OutputError(f"{out}: the workers ended, and there is no _run.json; run again")
    return Outcome(summary, ended.code, ended.reason)


@dataclass
class _Worker:
    """A process that runs. ``starts``: which one of its slot. ``ended``: what it said at its end."""

    slot: Slot
    process: subprocess.Popen[bytes]
    starts: int
    lines: EventLines = field(default_factory=EventLines)
    ended: Ended | None = None


@dataclass
class _Workers(Closing):
    """The processes. ``why``: how those ended that did not come to the end of the run."""

    slots: Sequence[Slot]
    module: str
    request: Callable[[Slot], bytes]
    relay: Relay
    why: str = ""
    _running: list[_Worker] = field(default_factory=list)

    def listen(self) -> Ended | None:
        """Pass on what the workers say until all have ended; the end of the run, as one of them told it."""
        found = None
        with selectors.DefaultSelector() as selector:
            for slot in self.slots:
                self._start(slot, 1, selector)
            while self._running:
                for chosen, _ in selector.select(timeout=1.0):
                    worker: _Worker = chosen.data
                    content = os.read(chosen.fd, 1 << 16)
                    self._pass_on(worker, content)
                    if not content:
                        selector.unregister(chosen.fileobj)
                        self._running.remove(worker)
                        found = self._end(worker, selector) or found
        return found

    def _start(self, slot: Slot, starts: int, selector: selectors.BaseSelector) -> None:
        process = start_process(self.module)
        worker = _Worker(slot, process, starts)
        self._running.append(worker)
        assert process.stdout is not None
        send_request(process, self.request(slot))
        selector.register(process.stdout, selectors.EVENT_READ, worker)

    def _pass_on(self, worker: _Worker, content: bytes) -> None:
        for event in worker.lines.read(content):
            if isinstance(event, Ended):
                worker.ended = event
            self.relay.take(worker.slot.name, event)

    def _end(self, worker: _Worker, selector: selectors.BaseSelector) -> Ended | None:
        """A worker ended: the end of the run if it told that; otherwise it is started once more, if it died."""
        code = worker.process.wait()
        assert worker.process.stdout is not None
        worker.process.stdout.close()
        self.relay.forget(worker.slot.name)
        if worker.ended is not None and worker.ended.concluded:
            return worker.ended
        name = worker.slot.name
        if worker.ended is not None:
            self.why = f"{name}: {worker.ended.reason}"
            self.relay.reporter.say(f"{name}: {worker.ended.reason}; the other workers go on")
            return None
        how = end_of(code)
        self.why = f"{name} ended with {how}"
        if worker.starts < _STARTS:
            self.relay.reporter.say(f"{name}: its process ended with {how}; it is started once more")
            self._start(worker.slot, worker.starts + 1, selector)
        else:
            self.relay.reporter.say(f"{name}: its process ended with {how} again; it is not started any more")
        return None

    def close(self) -> None:
        """End all processes: ask them, then kill them."""
        for worker in self._running:
            worker.process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for worker in self._running:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            if worker.process.stdout is not None:
                worker.process.stdout.close()
        self._running.clear()
