"""OpenVINO's own runtime on the CPU, for the variants that are made for it (extra ``openvino``).

A session has one stream for each processor that it may use. A stream computes one call on one thread, so that as many
calls run side by side; none of them shares anything with another. Everything that is not a quantised product is
computed in fp32, whatever instructions for bfloat16 the processor has.
"""

from __future__ import annotations

import queue
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DeviceError, MissingDependencyError

NAME = "OpenVINO"
"""What a plan has as the provider of such a variant."""
_PLACES = re.compile(r"(Exception from|Check '\S+' failed at) \S+:\d+: ?")
"""Lines of its source, with which its messages begin."""


def openvino() -> Any:
    """The ``openvino`` module.

    Raises:
        MissingDependencyError: it is not installed, or does not load.
    """
    try:
        import openvino as module
    except ImportError as e:
        raise MissingDependencyError(
            f"OpenVINO is not installed, or does not load ({e}); install it with: pip install 'd2t-scorer[openvino]', "
            "or choose another --precision"
        ) from e
    return module


@cache
def version() -> str:
    """Its version, as ``2026.4.1``.

    Raises:
        MissingDependencyError: it is not installed.
    """
    return str(openvino().__version__).partition("-")[0]  # the rest names the build


@dataclass(frozen=True)
class Input:
    """An input of a graph by its name."""

    name: str


class Call:
    """What one call is given up by, from any thread: set ``terminate``, as with ONNX Runtime's ``RunOptions``."""

    def __init__(self) -> None:
        self._request: Any = None
        self._given_up = False

    @property
    def terminate(self) -> bool:
        """Whether the call was given up."""
        return self._given_up

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._given_up = value
        request = self._request
        if value and request is not None:
            request.cancel()

    def compute(self, request: Any, feed: Mapping[str, npt.NDArray[Any]]) -> None:
        """Compute with a free request.

        Raises:
            RuntimeError: the call failed, or was given up.
        """
        self._request = request
        try:
            if self._given_up:
                raise RuntimeError("the call was given up")
            request.start_async(dict(feed))
            request.wait()
        finally:
            self._request = None


class OpenVinoSession:
    """A graph that is ready to run, with the methods of ONNX Runtime's ``InferenceSession`` that this program uses.

    Args:
        model: the checked ONNX file.
        threads: processors; as many calls run side by side, each on one of them.

    Raises:
        MissingDependencyError: OpenVINO is not installed.
        DeviceError: it does not open the graph.
    """

    def __init__(self, model: Path, threads: int) -> None:
        settings = {
            "NUM_STREAMS": threads,
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            # Several worker processes on one machine would all be pinned to its first processors.
            "ENABLE_CPU_PINNING": False,
        }
        core = openvino().Core()
        try:
            compiled = core.compile_model(str(model), "CPU", settings)
        except Exception as e:  # the runtime's exceptions share no base class but Exception
            reason = _PLACES.sub("", " ".join(str(e).split()))[:300]
            raise DeviceError(
                f"model {model} does not start with OpenVINO {version()}: {reason}; see `scorer doctor`, or choose "
                "another --precision"
            ) from e
        self._inputs = [Input(node.get_any_name()) for node in compiled.inputs]
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(threads):
            self._free.put(compiled.create_infer_request())

    def get_inputs(self) -> Sequence[Input]:
        """The inputs of the graph."""
        return self._inputs

    def run(
        self, names: Sequence[str], feed: Mapping[str, npt.NDArray[Any]], call: Call | None = None
    ) -> list[npt.NDArray[Any]]:
        """Outputs by their names. Waits for a stream that is free.

        Raises:
            RuntimeError: the call failed, or was given up.
        """
        request = self._free.get()
        try:
            (call or Call()).compute(request, feed)
            # Copies, since the next call of this request writes to the same memory.
            return [np.array(request.get_tensor(name).data) for name in names]
        finally:
            self._free.put(request)
