"""stdout and stderr that never fail: if a reader goes away, printing ends and the work continues.

The exit code of a command is about the work. A full disk behind ``2>log``, a closed terminal or ``| head``
must change neither the code nor the output folder, so text that cannot be written is dropped, here and nowhere else.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from contextlib import suppress
from typing import Any, TextIO


class LossyFile(io.RawIOBase):
    """A file descriptor to write to. After the first failure everything is dropped; ``failure`` says what it was."""

    def __init__(self, descriptor: int) -> None:
        self.failure: OSError | None = None
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        written = 0
        while self.failure is None and written < len(view):
            try:
                written += os.write(self._descriptor, view[written:])
            except BlockingIOError:  # the parent process made the pipe non-blocking; a slow reader is not a failure
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.failure = error
        return len(view)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)


def install() -> tuple[LossyFile, LossyFile]:
    """Replace ``sys.stdout`` and ``sys.stderr`` by such streams, and return the files beneath them.

    Descriptors that were closed at the start are opened on the null device first: else the next file that is opened,
    an output say, would get the number 2, and with it every complaint that a library writes to stderr.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  (it is stdin)
    out, err = LossyFile(1), LossyFile(2)
    sys.stdout, sys.stderr = _stream(out, sys.stdout), _stream(err, sys.stderr)
    return out, err


def was_lost(file: LossyFile) -> str | None:
    """Why output is missing; ``None`` if none is, if the reader has left, or if there never was one."""
    failure = file.failure
    return None if failure is None or failure.errno in (errno.EPIPE, errno.EBADF) else failure.strerror


def _stream(file: LossyFile, replaced: TextIO | None) -> TextIO:
    if replaced is not None:
        with suppress(OSError, ValueError):
            replaced.flush()
    # A character that the encoding of this terminal lacks must not end a run either.
    encoding = replaced.encoding if replaced is not None else "utf-8"
    buffered = io.BufferedWriter(file)
    return io.TextIOWrapper(buffered, encoding=encoding, errors="backslashreplace", line_buffering=True)
