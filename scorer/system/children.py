"""Child processes for work that could harm this one: start them, limit them, and report how they ended.

External data (Parquet, a model, a tokenizer) is decoded by libraries that may crash, hang or use all memory. Each kind
of work has its own module that runs in a child; this module has what both sides of all of them share.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import DeviceError

_ROOT = Path(__file__).resolve().parents[2]
_PR_SET_PDEATHSIG = 1
_COMPLAINTS = 1 << 20


class Spawned:
    """A child that runs ``python -m module``; its first argument is the process id of this one.

    Raises:
        OSError: it could not be started.
        DeviceError: this is not Linux.
    """

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        if sys.platform != "linux":
            raise DeviceError(f"a run starts processes in a way that only Linux has, and this is {sys.platform}")
        # The last line that it prints becomes part of the error; the file is in memory, so that no disk is needed.
        self._complaints = os.memfd_create("child-stderr", os.MFD_CLOEXEC)
        # -P: a json.py in the current folder must not replace the standard one. The package is still found.
        command = [sys.executable, "-P", "-m", module, str(os.getpid()), *arguments]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                bufsize=0,
                close_fds=True,
                env=_environment(),
                process_group=0,  # Ctrl-C in the terminal goes to the parent
            )
        except BaseException:
            os.close(self._complaints)
            raise
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def how(self) -> str:
        """How the process ended, and the last line it printed."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        how = f"exit code {code}"
        if code < 0:
            with suppress(ValueError):
                how = signal.Signals(-code).name
        lines = os.pread(self._complaints, 1 << 16, 0).decode("utf-8", "replace").strip().splitlines()
        return how + (f": {lines[-1][:200]}" if lines else "")

    def close(self) -> None:
        """Wait for the process, which has ended or was killed, and release it."""
        self.process.wait()
        for file in (self.stdin, self.stdout):
            with suppress(OSError):
                file.close()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1


def die_with(parent: int) -> None:
    """In the child: ignore interrupts, which the parent handles, and end when the parent ends."""
    import ctypes  # not needed in the parent

    # The parent handles Ctrl-C and kill, and decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before the kernel was told


def replies() -> int:
    """In the child: the descriptor for replies. From here on, all other prints go to standard error."""
    found = os.dup(1)
    os.dup2(2, 1)
    return found


def limit_process(memory: int | None, least: int = 0) -> None:
    """In the child, after its imports: limit the address space, and allow neither core dumps nor large files.

    ``memory``: bytes; ``None`` leaves address space and files without limits, which CUDA needs. ``least``: smallest
    limit in bytes, unless the environment sets a lower one.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = max(least, min([memory, *(x for x in (soft, hard) if x != resource.RLIM_INFINITY)]))
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    # Its standard error is a file in memory; a library that prints without end must not fill it.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    small = _COMPLAINTS if limit == resource.RLIM_INFINITY else min(limit, _COMPLAINTS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))


def _environment() -> dict[str, str]:
    """The caller's environment, with one thread for each library, and the system's allocator for Arrow.

    Other allocators reserve far more address space than they use, which a limited address space does not allow.
    """
    found = dict(os.environ)
    paths = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path]
    found.update(
        PYTHONPATH=os.pathsep.join([*paths, str(_ROOT)]),
        ARROW_DEFAULT_MEMORY_POOL="system",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        MALLOC_ARENA_MAX="2",
        # Buffers of a few MB are allocated for each batch; if returned to the kernel, they would be zeroed each time.
        MALLOC_MMAP_THRESHOLD_=str(32 << 20),
        MALLOC_TRIM_THRESHOLD_=str(256 << 20),
    )
    return found
