"""A worker process of ``--devices`` or ``--ray``: ``python -m scorer.run.device_worker PARENT [FOLDER]``.

Messages (:mod:`scorer.run.messages`) arrive on standard input and leave on standard output. It ends when its input
does, or its parent. The folder has the bundle and the templates where the node does not have the driver's files
(:mod:`scorer.run.ray.shipment`).
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from ..errors import DeviceError, OutputError, ScorerError
from ..scoring.reuse.earlier import check_earlier
from ..scoring.row_scorer import RowScoring
from ..scoring.windows import Mark
from ..storage import ShardReader
from ..storage.durable import Holder
from ..storage.lease import lock_name
from ..storage.output import open_store
from ..system.progress import tell
from ..system.signals import Terminated, ends_with_parent, leave, signals_raise
from .messages import Begin, Failed, Frames, Moved, Progress, Ready, Request, Said, Stopped, Task, Unseen, frame
from .processes import share_of, usable_cpus
from .shard_worker import OpenScorer, ShardWorker, shard_of_task
from .survey import Shard

_IDLE_S = 0.05
"""How long the stream waits for a further shard before it hands on what it has finished."""
_TICK_S = 1.0


class _Worker:
    """The two ends of the conversation with the driver, which is the listener (:class:`.options.Listener`)."""

    def __init__(self, source: BinaryIO, sink: int, folder: str) -> None:
        self._source, self._sink, self._folder = source, sink, folder
        self._guard = threading.Lock()
        self._messages: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, name="messages", daemon=True).start()
        tell(lambda: self.send(Moved()), _TICK_S)

    def send(self, message: object) -> None:
        """Tell the driver; without one, this process is about to end."""
        content = memoryview(frame(message))
        with self._guard, suppress(OSError):
            while content:
                content = content[os.write(self._sink, content) :]

    def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
        self.send(Progress(shard, rows, pairs, partial))

    def say(self, message: str) -> None:
        self.send(Said(message))

    def work(self) -> None:
        """Answer the request, then score what is given."""
        request: Request | None = self._messages.get()
        if request is None:
            return
        if share := share_of(usable_cpus(), request.number, request.cpus):
            with suppress(OSError):
                os.sched_setaffinity(0, share)  # before the runtime counts its threads
        options = request.job.options
        scoring = request.job.scoring(request.device, self._folder)
        with ExitStack() as stack:
            stack.enter_context(signals_raise())
            reader = stack.enter_context(
                ShardReader(form=options.form, delimiter=options.delimiter, split_rows=options.split_rows)
            )
            opened = OpenScorer.open(
                stack.enter_context,
                scoring,
                request.budgets,
                request.earlier,
                _opened(request.starts, reader, scoring),
                reader,
                check_earlier(options.reuse, options.out),
            )
            self.send(Ready(opened.facts))
            begin: Begin | None = self._messages.get()
            if begin is None:
                return
            out = options.out
            found = open_store(out, patient=False).read(lock_name(None))
            if found is None or begin.token.encode("ascii") not in found[0]:
                raise OutputError(
                    f"{out} is another place for this worker than for the driver; mount the same folder under this "
                    "path, or set credentials and endpoint of the store in the environment of `ray start`"
                )
            root = out if isinstance(out, Path) else Path(stack.enter_context(TemporaryDirectory(prefix="d2t-")))
            worker = ShardWorker(
                opened,
                reader,
                begin.plan,
                open_store(out),
                Holder(root, begin.token, lambda: None),
                self.send,
                self,
                options.max_error_rate,
                talks=request.talks,
            )
            worker.score(self._shards(reader, scoring))

    def _shards(self, reader: ShardReader, scoring: RowScoring) -> Iterator[tuple[Shard, str] | Mark]:
        """The shards as they are given. While there is none, marks go through the stream, so that it keeps nothing."""
        while True:
            try:
                task = self._messages.get(timeout=_IDLE_S)
            except queue.Empty:
                yield Mark()
                continue
            if task is None:
                return
            try:
                yield shard_of_task(task, reader, scoring), task.expect
            except ScorerError as error:
                self.send(Unseen(Failed.of(task.relative, error, task.identity)))

    def _listen(self) -> None:
        frames = Frames()
        try:
            while content := os.read(self._source.fileno(), 1 << 20):
                for message in frames.read(content):
                    self._messages.put(message)
        finally:
            self._messages.put(None)


def _opened(tasks: tuple[Task, ...], reader: ShardReader, scoring: RowScoring) -> list[Shard]:
    """Some of the shards, as this worker sees them.

    Raises:
        DeviceError: not one of them can be opened here.
    """
    found, why = [], ""
    for task in tasks:
        try:
            found.append(shard_of_task(task, reader, scoring))
        except ScorerError as error:
            why = why or str(error)
    if tasks and not found:
        raise DeviceError(f"the inputs cannot be read by this worker as by the driver: {why}")
    return found


def main(parent: int, folder: str = "") -> int:
    """Work until the driver is done; the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    if not ends_with_parent(parent):
        return 143
    sink = os.dup(1)
    os.dup2(2, 1)  # what libraries print is for people
    worker = _Worker(sys.stdin.buffer, sink, folder)
    try:
        worker.work()
    except ScorerError as error:
        worker.send(Stopped(type(error), str(error)))
        return error.exit_code
    except Terminated:
        return 143
    return 0


if __name__ == "__main__":
    leave(main(int(sys.argv[1]), *sys.argv[2:]))
