"""The workers that ``--devices`` asks for, and their shares of the processors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import DeviceError, UsageError
from ..inference.diagnosis import find_gpus
from ..system.processors import thread_count, usable_cpus
from .executors import WorkerSlot

_MOST_PROCESSES = 1024


def parse_devices(
    devices: str, gpus: int | None = None, cpus: Sequence[int] | None = None, threads: int | None = None
) -> list[WorkerSlot]:
    """The workers that ``--devices`` asks for.

    Args:
        devices: value of the option.
        gpus: number of CUDA devices; ``None`` for those of this machine.
        cpus: processors, of which workers on the CPU get equal shares; ``None`` for those that this process may use.
        threads: threads of all workers together; ``None`` for as many as this process may use.

    Raises:
        UsageError: not of one of the three forms, or a device named twice.
        DeviceError: ``all``, and there is no GPU.
    """
    cpus, threads = usable_cpus() if cpus is None else cpus, threads or thread_count()
    if devices == "all":
        gpus = len(find_gpus()) if gpus is None else gpus
        if not gpus:
            raise DeviceError("--devices all: no CUDA device was found; name devices, or write cpu:N")
        return [WorkerSlot(f"cuda:{number}", f"cuda:{number}") for number in range(gpus)]
    if match := re.fullmatch(r"cpu:([0-9]{1,4})", devices):
        count = int(match[1])
        if not 1 <= count <= _MOST_PROCESSES:
            raise UsageError(f"--devices {devices}: write a number of processes from 1 to {_MOST_PROCESSES}")
        size, quota = len(cpus) // count, max(1, threads // count) if threads < len(cpus) else None
        return [WorkerSlot(f"cpu:{number}", "cpu", share_of(cpus, number, size), quota) for number in range(count)]
    names = [name.strip() for name in devices.split(",")]
    if not all(re.fullmatch(r"cuda:[0-9]{1,4}", name) for name in names):
        raise UsageError(f"--devices {devices}: write all, cpu:N, or devices joined by commas, as in cuda:0,cuda:1")
    if len(set(names)) < len(names):
        raise UsageError(f"--devices {devices} names a device twice; name each once")
    return [WorkerSlot(name, name) for name in names]


def share_of(cpus: Sequence[int], number: int, size: int) -> tuple[int, ...]:
    """The processors of worker ``number``: ``size`` of them, at least one; empty for all."""
    size = max(1, size)
    if size >= len(cpus):
        return ()
    return tuple(sorted({cpus[(number * size + step) % len(cpus)] for step in range(size)}))
