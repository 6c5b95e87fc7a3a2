"""Workers as processes of this machine: those of ``--devices``, and how one is started; see :class:`.pool.Crew`."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import DeviceError, UsageError
from .pool import Ended, Place, Wrote

WORKER = "scorer.run.device_worker"
"""The module of a worker process."""
_ROOT = Path(__file__).resolve().parents[2]
_MOST_PROCESSES = 1024
_GRACE_S = 5.0


def parse_devices(given: str, gpus: int, cpus: int) -> tuple[Place, ...]:
    """The processes that ``--devices`` asks for.

    Args:
        gpus: how many CUDA devices this machine has.
        cpus: how many processors this process may use; workers on the CPU get equal shares.

    Raises:
        UsageError: not of one of the three forms, or a device named twice.
        DeviceError: ``all``, and there is no GPU.
    """
    if given == "all":
        if not gpus:
            raise DeviceError("--devices all: no CUDA device was found; name devices, or write cpu:N")
        return tuple(Place(f"cuda:{number}", f"cuda:{number}") for number in range(gpus))
    if match := re.fullmatch(r"cpu:([0-9]{1,4})", given):
        count = int(match[1])
        if not 1 <= count <= _MOST_PROCESSES:
            raise UsageError(f"--devices {given}: write a number of processes from 1 to {_MOST_PROCESSES}")
        return tuple(Place(f"cpu:{number}", "cpu", number, max(1, cpus // count)) for number in range(count))
    names = [name.strip() for name in given.split(",")]
    if not all(re.fullmatch(r"cuda:[0-9]{1,4}", name) for name in names):
        raise UsageError(f"--devices {given}: write all, cpu:N, or devices joined by commas, as in cuda:0,cuda:1")
    if len(set(names)) < len(names):
        raise UsageError(f"--devices {given} names a device twice; name each once")
    return tuple(Place(name, name) for name in names)


def usable_cpus() -> list[int]:
    """The processors that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def share_of(cpus: Sequence[int], number: int, count: int) -> list[int]:
    """The processors that worker ``number`` of a machine may use, if each gets ``count`` of them; empty for all."""
    if not 0 < count < len(cpus):
        return []
    start = number * count
    return sorted({cpus[(start + step) % len(cpus)] for step in range(count)})


def start_process(*arguments: str, module: str = WORKER) -> subprocess.Popen[bytes]:
    """Start a worker process; its standard input and output are pipes.

    It gets the id of this process, so that it ends with it, and a process group of its own, so that Ctrl-C goes to this
    process alone, which ends the others. It finds this package also if that is not installed.
    """
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, str(os.getpid()), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(_ROOT)])},
        process_group=0,
    )


def write_to(process: subprocess.Popen[bytes], content: bytes) -> None:
    """Tell a worker; one that has ended is passed over, which the end of its output tells."""
    assert process.stdin is not None
    with suppress(OSError, ValueError):
        process.stdin.write(content)
        process.stdin.flush()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def release(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process to end, and close its pipes; its exit code."""
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    return code


def end_of(code: int) -> str:
    """How a process ended, in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class LocalCrew:
    """A process for each place."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._running: dict[Place, subprocess.Popen[bytes]] = {}
        self._selector = selectors.DefaultSelector()

    def places(self) -> Sequence[Place]:
        return self._places

    def start(self, place: Place) -> None:
        process = start_process()
        assert process.stdout is not None
        self._running[place] = process
        self._selector.register(process.stdout, selectors.EVENT_READ, place)

    def send(self, place: Place, content: bytes) -> None:
        if place in self._running:
            write_to(self._running[place], content)

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        found: list[Wrote | Ended] = []
        if not self._running:
            time.sleep(min(wait_s, 0.05))
            return found
        for chosen, _ in self._selector.select(timeout=wait_s):
            place: Place = chosen.data
            if content := os.read(chosen.fd, 1 << 20):
                found.append(Wrote(place, content))
                continue
            self._selector.unregister(chosen.fileobj)
            code = release(self._running.pop(place))
            found.append(Ended(place, f"ended with {end_of(code)}"))
        return found

    def kill(self, place: Place) -> None:
        if place in self._running:
            kill_group(self._running[place])

    def close(self) -> None:
        """End all processes: ask them, then kill them."""
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            if process.returncode is None:
                kill_group(process)
            release(process)
        self._running.clear()
        self._selector.close()
