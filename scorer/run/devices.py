"""``--devices``: which worker processes a machine runs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import DeviceError, UsageError

_MOST_PROCESSES = 1024


@dataclass(frozen=True)
class Slot:
    """A worker process to run. ``name``: for messages. ``device``: as for ``--device``. ``cpus``: the processors that
    it may use, empty for all."""

    name: str
    device: str
    cpus: tuple[int, ...] = ()


def parse_devices(given: str, gpus: int, cpus: Sequence[int]) -> tuple[Slot, ...]:
    """The processes that ``--devices`` asks for.

    Args:
        gpus: how many CUDA devices this machine has.
        cpus: the processors that this process may use.

    Raises:
        UsageError: not of one of the three forms, or a device named twice.
        DeviceError: ``all``, and there is no GPU.
    """
    if given == "all":
        if not gpus:
            raise DeviceError("--devices all: no CUDA device was found; name devices, or write cpu:N")
        return tuple(Slot(f"cuda:{number}", f"cuda:{number}") for number in range(gpus))
    if match := re.fullmatch(r"cpu:([0-9]{1,4})", given):
        count = int(match[1])
        if not 1 <= count <= _MOST_PROCESSES:
            raise UsageError(f"--devices {given}: write a number of processes from 1 to {_MOST_PROCESSES}")
        return tuple(Slot(f"cpu:{number}", "cpu", share) for number, share in enumerate(_shares(cpus, count)))
    names = [name.strip() for name in given.split(",")]
    if not all(re.fullmatch(r"cuda:[0-9]{1,4}", name) for name in names):
        raise UsageError(f"--devices {given}: write all, cpu:N, or devices joined by commas, as in cuda:0,cuda:1")
    if len(set(names)) < len(names):
        raise UsageError(f"--devices {given} names a device twice; name each once")
    return tuple(Slot(name, name) for name in names)


def usable_cpus() -> list[int]:
    """The processors that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _shares(cpus: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """The processors divided into equal shares, neighbours together; with too few, processes share one."""
    if not cpus:
        return [()] * count
    size = max(1, len(cpus) // count)
    starts = [(number * size) % len(cpus) for number in range(count)]
    return [tuple(cpus[start : start + size]) for start in starts]
