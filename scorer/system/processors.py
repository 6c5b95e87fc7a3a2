"""Processors that this process may use: its CPU affinity, and the processor time that its control groups allow.

A container with two of 64 processors is usually bound to none: a quota of its control group limits the time that its
threads get together. A thread for each of the 64 would wait for that time most of the time.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def usable_cpus() -> list[int]:
    """Numbers of the processors that this process may use; empty where the system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def thread_count() -> int:
    """Default number of computing threads: one for each usable processor, but no more than the quota, rounded up."""
    processors = len(usable_cpus()) or os.cpu_count() or 1
    quota = processor_quota()
    return processors if quota is None else max(1, min(processors, math.ceil(quota)))


def processor_quota(root: Path = Path("/")) -> float | None:
    """Seconds of processor time that control groups allow this process for each second; ``None`` for no limit.

    The group of this process and its parents count, of version 2 (``cpu.max``) and 1 (``cpu.cfs_quota_us``); see
    cgroups(7) and the kernel's ``Documentation/admin-guide/cgroup-v2.rst``.

    Args:
        root: root of the file system, for tests.
    """
    quotas: list[float] = []
    for group in _groups(root):
        with suppress(OSError, ValueError, ZeroDivisionError):
            quota, period = (group / "cpu.max").read_text().split()
            quotas += [] if quota == "max" else [int(quota) / int(period)]
        with suppress(OSError, ValueError, ZeroDivisionError):
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            quotas += [int(quota) / int(period)] if int(quota) > 0 else []
    return min(quotas, default=None)


def _groups(root: Path) -> Iterator[Path]:
    """Folders of the control groups that limit the processor time of this process: its own and its parents."""
    try:
        memberships = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except (OSError, ValueError):
        return
    paths = {}
    for line in memberships:
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            paths["cgroup" if controllers else "cgroup2"] = path
    for line in mounts:
        mount, _, kind = line.partition(" - ")
        (_, _, _, top, mounted), (form, *_, options) = mount.split()[:5], kind.split()
        if form not in paths or (form == "cgroup" and "cpu" not in options.split(",")):
            continue
        # The mount may show a part of the hierarchy, as in a container; a path outside of it is the mount's top.
        path, top = paths[form], top.rstrip("/")
        below = path[len(top) :].strip("/") if path.startswith(f"{top}/") and ".." not in path.split("/") else ""
        folder = root / mounted.strip("/")
        yield folder
        for name in below.split("/"):
            folder /= name
            yield folder
