"""A worker process: ``python -P -m scorer.run.worker FD``. It serves the driver over the connection FD.

It reads footers, then opens the scorer, then reads, scores and writes shards, and puts them into the object store if
the output is one. An unexpected error ends it with a traceback, which the driver reads as a death; it never ends by way
of threads and destructors, one of which may wait for ever.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from ..errors import ScorerError
from ..system.waiting import in_thread, report_progress, result_of
from ..system.worker_process import serve
from .executors import (
    Begin,
    Inspect,
    LogMessage,
    Open,
    OutOfMemory,
    Progress,
    Request,
    ShardResult,
    WorkerError,
    WorkerReady,
)

if TYPE_CHECKING:
    from ..inference.bundle import Bundle
    from ..storage.store import Store
    from .shard_scorer import ShardScorer

PROGRESS_SECONDS = 0.25


class Replies(Protocol):
    """Takes replies to the driver; any thread may send."""

    def send(self, message: Any) -> None: ...


def work(channel: Replies, requests: queue.SimpleQueue[Any]) -> None:
    """Read footers until the request to open the scorer, then score; report an error to the driver."""
    with _telling(channel):
        from ..inference.session import open_bundle
        from .inspection import inspect_files
        from .shard_scorer import ShardScorer  # pyarrow, the runtime: most of the time of a start

        channel.send(Progress())
        scorer: ShardScorer | None = None
        opening: Future[Bundle] | None = None
        report_progress(lambda: channel.send(scorer.progress() if scorer is not None else Progress()), PROGRESS_SECONDS)
        while isinstance(request := requests.get(), Inspect):
            if request.opens and opening is None:  # while the inputs are looked at
                settings = request.settings
                opening = in_thread(partial(open_bundle, settings.bundle, settings.device, settings.precision))
            for footer in inspect_files(request):
                channel.send(footer)
        assert isinstance(request, Open)
        if request.cpus:
            os.sched_setaffinity(0, request.cpus)  # before the runtime counts its threads
        store = open_output(request)
        bundle = None if opening is None else result_of(opening)
        scorer = ShardScorer(request, lambda text: channel.send(LogMessage(text=text)), bundle)
        channel.send(WorkerReady(info=scorer.info))
        begin = requests.get()
        assert isinstance(begin, Begin)
        scorer.begin(begin)
        channel.send(WorkerReady(info=scorer.info))
        for result in scorer.score(iter(requests.get, None), stop=lambda: requests.put(None)):
            if store is None:
                channel.send(result)
            else:  # the next shards are scored meanwhile
                in_thread(partial(_send_uploaded, channel, store, result))


def open_output(request: Open) -> Store | None:
    """The object store of the outputs of a run; ``None`` for a folder."""
    from ..storage.location import parse_location
    from ..storage.store import open_store

    return open_store(parse_location(request.out)) if request.out else None


def uploaded(store: Store | None, result: ShardResult) -> ShardResult:
    """The result of a shard after its upload, if its output goes to an object store."""
    from ..storage.output_writer import upload

    if store is None or result.receipt is None:
        return result
    return replace(result, temporary="", receipt=upload(store, Path(result.temporary), result.receipt))


def _send_uploaded(channel: Replies, store: Store, result: ShardResult) -> None:
    with _telling(channel):
        channel.send(uploaded(store, result))


@contextmanager
def _telling(channel: Replies) -> Iterator[None]:
    """Send an error to the driver; an unexpected one ends the process."""
    try:
        yield
    except ScorerError as error:
        channel.send(WorkerError.of(error))
    except BaseException as error:
        if isinstance(error, MemoryError):
            channel.send(OutOfMemory())
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    work(*serve(int(sys.argv[1]), Request))
    threading.Event().wait()  # for the driver, which closes the connection
