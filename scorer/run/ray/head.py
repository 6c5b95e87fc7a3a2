"""Whether the head of a Ray cluster is there. A question to one that is gone blocks, and after a minute Ray ends the
process that asked."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from ...errors import DeviceError

_ANSWER_S = 2.0
_GONE_S = 20.0
"""A head that is started again answers within this time."""


def answers(address: str, wait_s: float = _ANSWER_S) -> str:
    """Why nothing listens on an address; empty if something does, or if it is not of the form HOST:PORT."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return ""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), wait_s):
            return ""
    except (OSError, OverflowError) as error:
        return str(error) or type(error).__name__


class Head:
    """The head of the cluster that this process is connected to.

    Args:
        address: HOST:PORT.
        ask: see :func:`answers`. now: seconds on a clock that does not go back.
    """

    def __init__(
        self, address: str, ask: Callable[[str], str] = answers, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._ask, self._now = address, ask, now
        self._silent_since: float | None = None

    def is_there(self) -> bool:
        """Whether it answers now.

        Raises:
            DeviceError: it has not answered for a while.
        """
        why = self._ask(self._address)
        if not why:
            self._silent_since = None
            return True
        if self._silent_since is None:
            self._silent_since = self._now()
        if self._now() - self._silent_since > _GONE_S:
            raise DeviceError(
                f"--ray: the head of the cluster, {self._address}, is gone ({why}); start a cluster, on which the same "
                "command resumes"
            )
        return False
