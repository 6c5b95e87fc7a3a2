"""A runtime session on the requested device, or an error; never a silent fallback to another device.

A provider in the list of available ones proves nothing (its libraries may be missing), so a session is created and
asked what it took. Libraries that are loaded by the first call may be missing still, so on such a device the session
is called once before it is handed out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DeviceError, MissingDependencyError, install_hint
from .devices import CPU, KINDS, Device, device, parse, unwanted_fusions

OWN_GRAPH = Path(__file__).parent / "matrix" / "start.onnx"
"""A matrix product and a sum, which need the libraries that a model's graph needs: what a device is tried with."""


def runtime() -> Any:
    """The ``onnxruntime`` module.

    Raises:
        MissingDependencyError: neither of its wheels is installed.
    """
    try:
        import onnxruntime
    except ImportError as e:
        if find_spec("onnxruntime") is not None:  # it is there, and does not load: a damaged package, or no memory
            raise MissingDependencyError(f"ONNX Runtime cannot be loaded: {first_line(e)}; install it again") from e
        raise MissingDependencyError(
            f"ONNX Runtime is not installed: {install_hint('cpu')}; on a machine with an NVIDIA GPU install the extra "
            "gpu instead, not both"
        ) from e
    return onnxruntime


def conflicting_wheels() -> list[str]:
    """ONNX Runtime wheels in one folder, whose files overwrite each other; empty where there is no conflict.

    Wheels in different folders do not mix: Python takes the whole package from the first folder of its path.
    """
    from importlib import metadata  # not needed where nothing is wrong

    folders: dict[str, list[str]] = {}
    for name in ("onnxruntime", "onnxruntime-gpu"):
        try:
            folder = str(metadata.distribution(name).locate_file(""))
        except metadata.PackageNotFoundError:
            continue
        folders.setdefault(os.path.realpath(folder), []).append(name)
    return next((names for names in folders.values() if len(names) > 1), [])


def available_threads() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def create_session(model: Path, on: Device, threads: int, options: Mapping[str, str] | None = None) -> Any:
    """An ``InferenceSession`` of ``model`` that really runs on a device.

    Args:
        threads: of this process, where the device computes with them.
        options: of the provider, in addition to those of the device's row, or instead of them.

    Raises:
        DeviceError: the provider is not in this build, or it did not start; says what was found.
    """
    ort, row = runtime(), on.row
    if row.provider not in ort.get_available_providers():
        raise DeviceError(
            f"device {on} was asked for, but ONNX Runtime {ort.__version__} here has only "
            f"{', '.join(ort.get_available_providers())}; {_how_to_fix(on)}"
        )
    settings = session_options(on, threads)
    row.prepare(ort)
    try:
        session = ort.InferenceSession(
            str(model), settings, providers=providers(on, options), disabled_optimizers=unwanted_fusions(row.provider)
        )
    except Exception as e:  # the runtime's exceptions share no base class but Exception
        raise DeviceError(f"model {model} does not start on {on}: {first_line(e)}; see `scorer doctor`") from e
    session.disable_fallback()
    taken = session.get_providers()
    if taken[0] != row.provider:
        raise DeviceError(
            f"device {on} was asked for, but the session took {taken[0]} (its libraries are missing or do not "
            f"fit); {_how_to_fix(on)}"
        )
    if row.first_call:
        _call_once(session, model, on)
    return session


def session_options(on: Device, threads: int) -> Any:
    """Options of a session on a device. ``threads``: of this process, where the device computes with them."""
    settings = runtime().SessionOptions()
    settings.intra_op_num_threads = threads if on.row.computes_on_host else 1
    settings.inter_op_num_threads = 1
    if not on.row.computes_on_host:
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.add_session_config_entry("session.inter_op.allow_spinning", "0")
        # The plan of a shape's memory would be allocated in one piece by its second call, besides the pieces that the
        # first has taken and the arena keeps.
        settings.enable_mem_pattern = False
    settings.use_deterministic_compute = True
    settings.log_severity_level = 4  # failures come back as exceptions; the log would repeat them on stderr
    return settings


def providers(on: Device, options: Mapping[str, str] | None = None) -> list[Any]:
    """A device's provider with its options, as a session takes it. ``options``: in addition to those of the device's
    row, or instead of them."""
    row = on.row
    if not row.numbered:
        return [row.provider]
    return [(row.provider, {"device_id": on.index, **row.options, **(options or {})}), CPU]


def resolve_device(asked: str, warn: Callable[[str], None] = lambda message: None) -> Device:
    """Turn ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` into a device on which a session starts.

    ``auto`` is the first kind of :data:`~scorer.inference.devices.KINDS` on which a session starts. What is named and
    does not start is an error. The session is one of a graph of this program's own, opened once for each device: a
    bundle's graph is not opened to find out where it could run.

    Args:
        warn: told when ``auto`` passes over a device of which the runtime has the provider.

    Raises:
        DeviceError: not one of these words, or the named device does not start.
    """
    if asked == "auto":
        *others, last = KINDS
        for name in others:
            if KINDS[name].provider not in runtime().get_available_providers():
                continue
            try:
                return _started(device(name))
            except DeviceError as e:
                warn(f"{name} is not used: {e}")
        return device(last)
    found = parse(asked)
    if found is None:
        names = [name + (f", {name}:N" if row.numbered else "") for name, row in reversed(list(KINDS.items()))]
        raise DeviceError(f"device {asked!r} is not known; choose from auto, {', '.join(names)}")
    named = device(*found)
    return _started(named) if named.row.first_call else named


def small_feed(session: Any) -> dict[str, npt.NDArray[Any]]:
    """Inputs of the smallest call that a session takes: one pair of eight tokens, or matrices of ones."""
    made = {}
    kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int32)": np.int32}
    for node in session.get_inputs():
        kind = kinds.get(node.type, np.int64)
        if node.name == "cumulative_sequence_length":
            made[node.name] = np.array([0, 8], kind)
        elif node.name in ("position_ids", "token_offset"):
            made[node.name] = np.arange(8, dtype=kind).reshape((1, 8)[-len(node.shape) :])
        else:
            made[node.name] = np.ones((8, 8) if issubclass(kind, np.floating) else (1, 8)[-len(node.shape) :], kind)
    return made


def first_line(error: BaseException) -> str:
    """An exception of another library as one line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


@cache
def _started(on: Device) -> Device:
    create_session(OWN_GRAPH, on, 1)
    return on


def _call_once(session: Any, model: Path, on: Device) -> None:
    how = runtime().RunOptions()
    how.add_run_config_entry("gpu_graph_id", "-1")  # where calls are recorded as CUDA graphs, this one is not
    try:
        session.run(None, small_feed(session), how)
    except Exception as e:
        known = on.row.diagnose(on.hardware.capability, str(runtime().__version__), str(e))
        raise DeviceError(
            f"model {model} starts on {on}, and its first call fails: {first_line(e)}; "
            f"{known or 'see `scorer doctor`, or choose --device cpu'}"
        ) from e


def _how_to_fix(on: Device) -> str:
    if conflicting_wheels():
        return "both onnxruntime and onnxruntime-gpu are installed and shadow each other: uninstall both, install one"
    return on.row.install
