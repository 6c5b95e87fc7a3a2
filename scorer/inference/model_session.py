"""The session of one ONNX file on one device, which can be opened again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .calls import Calls
from .devices import Device
from .layouts import Feed
from .openvino_session import OpenVinoSession
from .sessions import create_session


class ModelSession:
    """A session and what it takes to open it.

    Args:
        model: the checked ONNX file.
        calls: through which it is called; where the device belongs to one thread, it is opened there too.
        options: of the provider, in addition to those of the device's row.
        openvino: whether OpenVINO computes, with ``threads`` calls side by side, and not ONNX Runtime.

    Raises:
        DeviceError: it does not start.
    """

    def __init__(
        self,
        model: Path,
        device: Device,
        threads: int,
        calls: Calls,
        options: Mapping[str, str] | None = None,
        *,
        openvino: bool = False,
    ) -> None:
        self.device = device
        self._calls = calls
        self._open: Callable[[], Any] = (
            (lambda: OpenVinoSession(model, threads))
            if openvino
            else (lambda: create_session(model, device, threads, options))
        )
        self._session = calls.owned(self._open)
        self._opened_again = False
        self.inputs: tuple[str, ...] = tuple(node.name for node in self._session.get_inputs())
        """Names of the graph's inputs."""

    @property
    def session(self) -> Any:
        """The runtime's own session, for measurements."""
        return self._session

    def run(self, feed: Feed, rows: int, *, shrink: bool = False) -> npt.NDArray[np.float32]:
        """One call: logits, float32, *Shape:* (rows, 3).

        Args:
            rows: pairs of the call.
            shrink: give the memory that the arena does not use back to the device when the call has ended.

        Raises:
            See :meth:`Calls.run`.
        """
        arena = f"{self.device.row.arena}:{self.device.index}" if shrink and self.device.row.arena else ""
        return self._calls.run(self._session, feed, rows, shrink=arena)

    def reopen(self) -> bool:
        """Open the session again, which frees all that it held; the first time only. Whether it was done."""
        if self._opened_again or not self.device.row.arena:
            return False
        self._opened_again = True
        self._session = None  # its memory first
        self._session = self._calls.owned(self._open)
        return True
