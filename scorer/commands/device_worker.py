"""A worker process of ``--devices`` or ``--ray``: ``python -m scorer.commands.device_worker PARENT``, started by
:mod:`scorer.run.supervisor` or :mod:`scorer.run.ray.guard` with a request on its standard input."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import ScorerError
from ..run.devices import Slot
from ..run.events import Ended, EventReporter, event_line
from ..run.options import JoinOptions, RunOptions
from ..scoring.settings import Settings
from ..system.signals import Terminated, ends_with_parent, leave

MODULE = "scorer.commands.device_worker"


@dataclass(frozen=True)
class Request:
    """What a worker is told."""

    options: RunOptions
    join: JoinOptions
    settings: Settings
    slot: Slot

    def to_bytes(self) -> bytes:
        """For the standard input of a worker, which the same user has started."""
        return pickle.dumps(self)


def main(parent: int) -> int:
    """Work until the run ends; the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    if not ends_with_parent(parent):  # by SIGTERM, on which it gives its shards back
        return 143
    request = pickle.loads(sys.stdin.buffer.read())  # of the parent alone
    events = os.dup(1)
    os.dup2(2, 1)  # what libraries print is for people

    def send(line: bytes) -> None:
        with suppress(OSError):  # without its parent, this process is about to end
            os.write(events, line)

    if request.slot.cpus and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, request.slot.cpus)  # before the runtime counts its threads
    from ..run.worker import run_joined
    from .common import metric_scoring

    try:
        scoring = metric_scoring(replace(request.settings, device=request.slot.device))
        outcome = run_joined(request.options, request.join, scoring, EventReporter(send))
    except ScorerError as error:
        send(event_line(Ended(error.exit_code, str(error), concluded=False)))
        return error.exit_code
    except Terminated:
        return 143
    send(event_line(Ended(outcome.exit_code, outcome.reason, concluded=True)))
    return outcome.exit_code


if __name__ == "__main__":
    leave(main(int(sys.argv[1])))
