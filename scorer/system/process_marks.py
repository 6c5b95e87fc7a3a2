"""Marks of processes, by which another process of the same machine sees that one has ended."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_DEAD = ("Z", "X")
"""States of a process that has ended, and whose parent has not asked for its exit code."""


def own_mark() -> str:
    """A mark of this process that no other process ever has; empty where the system does not tell enough."""
    try:
        return f"{_place()}:{os.getpid()}:{_started(os.getpid())}"
    except (OSError, ValueError, IndexError):
        return ""


def has_ended(mark: object) -> bool:
    """Whether the process of a mark has certainly ended: this process would see it, and does not.

    Where it runs under another kernel, or in another namespace of process ids, it cannot be seen.

    Args:
        mark: as read from a file of another process.
    """
    place, _, rest = mark.rpartition(":")[0].rpartition(":") if isinstance(mark, str) else ("", "", "")
    try:
        if not rest.isdecimal() or not place or place != _place():
            return False
        return f"{place}:{rest}:{_started(int(rest))}" != mark
    except FileNotFoundError:
        return True
    except (OSError, ValueError, IndexError):
        return False


def _place() -> str:
    """Host name, boot of the kernel, and namespace of process ids."""
    return f"{socket.gethostname()}:{_BOOT.read_text().strip()}:{_NAMESPACE.stat().st_ino}"


def _started(pid: int) -> str:
    """When a process began, in ticks since the boot; ``ended`` if it waits for its parent alone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return "ended" if fields[0] in _DEAD else fields[19]
