"""Verify a variant in a worker process of its own: for callers that are no worker of a run.

A graph or a tokenizer may hang, crash or take all memory, with valid hashes. The process has bounded memory and must
show progress; what happens to it there is an error here.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import NoReturn

from ..errors import (
    BundleError,
    CallError,
    DamagedFileError,
    DeviceError,
    MissingDependencyError,
    SchemaError,
    ScorerError,
    first_line,
)
from ..system.codec import Record
from ..system.progress import advance, tell
from ..system.worker_process import WorkerProcess, serve
from .bundle import Bundle
from .device import device, parse
from .engine import Engine
from .session import runtime
from .variants import VariantOnDevice
from .verification import DeviceReport, measure

SILENCE_S = 90.0
"""Longest time without progress, and so of one call; more for a large model, by its bytes."""
LONGEST_S = 3600.0
TIMES_MODEL = 5
"""Memory in sizes of the ONNX file: as it was read, parsed, optimised, arranged for the kernels, and activations."""
_BYTES_A_SECOND = 10e6
_LOOK_S, _TICK_S = 0.1, 0.5


class _Request(Record, frozen=True, kw_only=True, tag="verify"):
    """What to verify. ``memory``: bytes that the process may allocate; ``None`` for no limit."""

    bundle: str
    sha256: str
    variant: str
    device: str
    options: dict[str, str]
    threads: int
    device_memory: int
    step: int
    budget: int | None
    memory: int | None


class _Progress(Record, frozen=True, tag="progress"):
    """Something was done."""


class _Verified(Record, frozen=True, kw_only=True, tag="verified"):
    report: DeviceReport


class _Failed(Record, frozen=True, kw_only=True, tag="failed"):
    """``kind``: a name in :data:`_ERRORS`."""

    kind: str
    message: str


_ERRORS: dict[str, type[ScorerError]] = {
    e.__name__: e for e in (BundleError, CallError, DeviceError, MissingDependencyError)
}
MODULE = "scorer.inference.verification_worker"


class _GoneError(Exception):
    """How the worker ended without an answer."""


def verify_in_worker(use: VariantOnDevice, budget: int | None) -> DeviceReport:
    """Verify a variant in a process of bounded time and memory.

    Raises:
        BundleError, DeviceError: it does not run here, or not in the bounds.
    """
    spec, size = use.device.spec, use.bundle.variant(use.variant).stat().st_size
    memory = spec.verification_memory + TIMES_MODEL * size
    request = _Request(
        bundle=str(use.bundle.path.absolute()),
        sha256=use.bundle.sha256,
        variant=use.variant,
        device=str(use.device),
        options=dict(use.options),
        threads=use.threads,
        device_memory=use.device_memory,
        step=use.step,
        budget=budget,
        # Stacks and heaps of threads are reserved and hardly used.
        memory=memory + (2 << 30) + use.threads * (80 << 20) if spec.limits_verification else None,
    )
    try:
        worker = WorkerProcess(MODULE, _Progress | _Verified | _Failed)
    except OSError as e:
        raise BundleError(f"bundle {use}: no process could be started to try it in: {e.strerror or e}") from e
    try:
        worker.send(request)
        answer = _await_answer(worker, memory, SILENCE_S + size / _BYTES_A_SECOND)
    except _GoneError as e:
        raise BundleError(
            f"bundle {use}: the process that tried it {e}; a bundle that `scorer export` wrote does not do that: "
            "export it again, or choose another --precision or --device"
        ) from e
    finally:
        worker.kill()
        worker.close()
    if isinstance(answer, _Failed):
        raise _ERRORS.get(answer.kind, BundleError)(answer.message)
    return answer.report


def _await_answer(worker: WorkerProcess, memory: int, silence_s: float) -> _Verified | _Failed:
    """The answer of a worker, which must make progress and keep to its memory."""
    began = heard = time.monotonic()
    while True:
        if wait([worker.connection], _LOOK_S):
            try:
                message = worker.receive()
            except (EOFError, OSError):
                raise _GoneError(worker.describe_end()) from None
            except (DamagedFileError, SchemaError) as e:
                raise _GoneError(f"gave no result ({e})") from e
            heard = time.monotonic()
            advance()
            if not isinstance(message, _Progress):
                return message
        if _resident(worker.pid) > memory:
            raise _GoneError(f"took more than {memory >> 20:,} MiB of memory")
        now = time.monotonic()
        if now - heard > silence_s:
            raise _GoneError(f"was stopped after {silence_s:.0f} s without progress")
        if now - began > LONGEST_S:
            raise _GoneError(f"was stopped after {LONGEST_S:.0f} s of work on a few hundred pairs")


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def main(descriptor: int) -> NoReturn:
    """Verify one variant: the process of :func:`verify_in_worker`."""
    channel, requests = serve(descriptor, _Request)
    request: _Request = requests.get()
    with suppress(OSError):  # if the machine runs out of memory, the system ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000")
    sending = threading.Lock()

    def send(message: _Progress | _Verified | _Failed) -> None:
        with sending:
            channel.send(message)

    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others reserve far more than they use
    try:
        runtime()
        _limit_memory(request.memory)
        tell(partial(send, _Progress()), _TICK_S)
        answer: _Verified | _Failed = _Verified(report=_verify(request))
    except ScorerError as e:
        answer = _failed(e)
    except MemoryError:
        answer = _failed(BundleError(f"bundle {request.bundle}: its model takes more memory than verification may use"))
    except BaseException as e:  # whatever a bundle makes a library raise, is about the bundle
        answer = _failed(BundleError(f"bundle {request.bundle} cannot be used: {type(e).__name__}: {first_line(e)}"))
    send(answer)
    os._exit(0)  # threads of a call that does not end would be waited for


def _limit_memory(memory: int | None) -> None:
    """Limit the address space to what is in use now and so many bytes more, and allow no core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is None or sys.platform != "linux":  # elsewhere the system refuses such a limit
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([used + memory, *limits]), resource.getrlimit(resource.RLIMIT_AS)[1]))


def _verify(request: _Request) -> DeviceReport:
    bundle = Bundle.load(request.bundle)
    if bundle.sha256 != request.sha256:
        raise BundleError(f"bundle {request.bundle} was changed while it was opened; run again")
    kind, index = parse(request.device) or ("cpu", 0)
    use = VariantOnDevice(
        bundle, request.variant, device(kind, index), request.threads, request.options, request.device_memory,
        request.step,
    )  # fmt: skip
    return measure(Engine(use, request.budget or use.usual_budget), request.budget)


def _failed(error: ScorerError) -> _Failed:
    return _Failed(kind=type(error).__name__, message=" ".join(str(error).split())[:1800])


if __name__ == "__main__":
    main(int(sys.argv[1]))
