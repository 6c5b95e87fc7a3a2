"""How far the work of this process is, as one number: who watches a process sees by it that the process does not hang.

Whatever may take long advances it: bytes hashed, calls of a model, windows read, lines of a child process. An upload
cannot: it is one request, and the client of the store limits its time.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NoReturn

_BLOCK = 1 << 20
steps = 0
"""How often something was done so far."""
_limited: list[None] = []
"""One for each :func:`limited` that lasts."""


def advance() -> None:
    """Note that something was done."""
    global steps  # an increment that two threads share may be lost; only whether the number changes is looked at
    steps += 1


@contextmanager
def limited() -> Iterator[None]:
    """While this lasts the process does not count as hanging: what is done in it ends by a limit of its own."""
    _limited.append(None)
    try:
        yield
    finally:
        _limited.pop()


def tell(say: Callable[[], object], every_s: float) -> None:
    """Call ``say`` in another thread, after each interval in which something was done or limited, until this process
    ends."""

    def watch() -> NoReturn:
        seen = -1
        while True:
            time.sleep(every_s)
            if (done := steps) != seen or _limited:
                seen = done
                say()

    threading.Thread(target=watch, name="progress", daemon=True).start()


def sha256_of(file: BinaryIO) -> str:
    """SHA-256 of what is left of a file, as hex.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
        advance()
    return digest.hexdigest()
