"""Sessions of ONNX Runtime: on the requested device or an error, with calls that can be cancelled and checked outputs.

A provider in the list of available ones proves nothing (its libraries may be missing), so a session is created and
asked what it took; there is no silent fallback to another device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, CallError, DeviceError, MissingDependencyError, ScorerError, first_line, install_hint
from ..status import OUT_OF_MEMORY
from ..system.waiting import in_thread, note_progress, result_of
from .batching import Batch, EncodedPairs, Feed, Layout, Packed, Padded
from .bundle import ATTENTION, PACKED_ATTENTION, Bundle
from .device import CPU, KINDS, PACKED, Device, is_out_of_memory, parse_device

_NOTICE_S = 5.0
"""Seconds that :meth:`DeviceThread.close` waits for a cancelled call; the runtime looks between two nodes."""
_ADVICE = "see `scorer doctor`, or choose another --precision or --device"
OWN_GRAPH = Path(__file__).parent / "start.onnx"
"""The graph that a device is tried with: a matrix product and a sum, which need the libraries that a model needs."""
Result = TypeVar("Result")


def runtime() -> Any:
    """The ``onnxruntime`` module.

    Raises:
        MissingDependencyError: neither of its wheels is installed, or it cannot be loaded.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as e:
        raise MissingDependencyError(
            f"ONNX Runtime is not installed: {install_hint('cpu')}; on a machine with an NVIDIA GPU install the extra "
            "gpu instead, not both"
        ) from e
    except ImportError as e:  # a damaged package, or no memory
        raise MissingDependencyError(f"ONNX Runtime cannot be loaded: {first_line(e)}; install it again") from e
    return onnxruntime


def resolve_device(
    name: str,
    warn: Callable[[str], None] = lambda message: None,
    is_known: Callable[[Device], bool] = lambda device: False,
) -> Device:
    """A device that starts.

    Args:
        name: ``cpu``, ``cuda``, ``cuda:N``, or ``auto`` for the first device that starts.
        warn: called when ``auto`` skips a device although the runtime has its provider.
        is_known: whether a device has run the model before; such a device is not tried here.

    Raises:
        DeviceError: no such device, or the named one does not start.
    """
    if name == "auto":
        *preferred, last = KINDS
        for kind in preferred:
            if KINDS[kind].provider in runtime().get_available_providers():
                try:
                    return resolve_device(kind, warn, is_known)
                except DeviceError as e:
                    warn(f"{kind} is not used: {e}")
        return parse_device(last)
    device = parse_device(name)
    if not device.spec.is_host and not is_known(device):
        _start(device)
    return device


@cache
def _start(device: Device) -> None:
    """Open a session of our own graph, and call it: some libraries are loaded by the first call."""
    session = create_session(OWN_GRAPH, device, 1)
    try:
        session.run(None, dict.fromkeys("ab", np.ones((8, 8), np.float32)))
    except Exception as e:  # the runtime raises its own classes, which share only Exception
        raise DeviceError(f"{device} starts, and its first call fails: {first_line(e)}; {_ADVICE}") from e


def create_session(model: Path, device: Device, threads: int, options: Mapping[str, str] | None = None) -> Any:
    """An ``InferenceSession`` of a graph that really runs on a device.

    Args:
        threads: threads of this process, for a device that computes with them.
        options: provider options, which add to those of the device's kind or replace them.

    Raises:
        DeviceError: the provider is not in this build, or it did not start.
    """
    ort, spec = runtime(), device.spec
    available = ort.get_available_providers()
    if spec.provider not in available:
        raise _not_taken(device, f"ONNX Runtime {ort.__version__} here has only {', '.join(available)}")
    providers: list[Any] = [spec.provider]
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads if spec.is_host else 1
    settings.inter_op_num_threads = 1
    if not spec.is_host:
        providers = [(spec.provider, {"device_id": device.index, **spec.options, **(options or {})}), CPU]
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.add_session_config_entry("session.inter_op.allow_spinning", "0")
        # The plan of a shape's memory would be allocated in one piece by its second call, besides the pieces that the
        # first has taken and the arena keeps.
        settings.enable_mem_pattern = False
    settings.use_deterministic_compute = True
    settings.log_severity_level = 4  # failures come back as exceptions; the log would repeat them on stderr
    spec.prepare(ort)
    try:
        session = ort.InferenceSession(
            str(model), settings, providers=providers, disabled_optimizers=list(spec.unwanted_fusions)
        )
    except Exception as e:  # the runtime's exceptions share no base class but Exception
        raise DeviceError(f"model {model} does not start on {device}: {first_line(e)}; see `scorer doctor`") from e
    session.disable_fallback()
    if (provider := session.get_providers()[0]) != spec.provider:
        raise _not_taken(device, f"the session took {provider} (its libraries are missing or do not fit)")
    return session


def _not_taken(device: Device, problem: str) -> DeviceError:
    return DeviceError(f"device {device} was asked for, but {problem}; {device.spec.install}; see `scorer doctor`")


class OutOfMemoryError(Exception):
    """A call failed for want of memory; a smaller one may not."""


class DeviceThread(ThreadPoolExecutor):
    """The thread that makes all calls of an engine's sessions, one at a time; further calls wait in its queue.

    Python handles no signal while a thread is in a call. So the caller waits in another thread, and a call that nobody
    waits for any more is cancelled in the runtime. A provider also plans, and opens library handles, once per thread.
    """

    def __init__(self) -> None:
        super().__init__(1, "call")
        self.running: Any = None
        """Options of the call under way, which can end it."""
        self._ended = False

    def call(self, action: Callable[[], Result]) -> Result:
        """Result of an action in the thread."""
        waiting = self.submit(action)
        try:
            return result_of(waiting)
        except BaseException:  # a signal: nobody waits for this call any more
            if not waiting.done():
                self.cancel()
            raise

    def run(self, session: Any, feed: Feed, settings: Mapping[str, str]) -> Any:
        """One call of the runtime, in this thread: the logits as they come, or :class:`CancelledError`."""
        options = runtime().RunOptions()
        for name, value in settings.items():
            options.add_run_config_entry(name, value)
        self.running = options
        try:
            if self._ended:  # which is set before the running call is looked for
                raise CancelledError
            return session.run(["logits"], feed, options)[0]
        except Exception as e:
            if options.terminate:
                raise CancelledError from e
            raise
        finally:
            note_progress()
            self.running = None

    def cancel(self) -> None:
        """Cancel the call under way: it ends as soon as the runtime looks."""
        if (running := self.running) is not None:
            running.terminate = True

    def close(self) -> None:
        """Cancel the call under way, and allow no more."""
        self._ended = True
        self.cancel()
        wait([in_thread(partial(self.shutdown, cancel_futures=True))], _NOTICE_S)


@dataclass(frozen=True)
class VariantOnDevice:
    """A variant of a bundle on a device."""

    bundle: Bundle
    variant: str
    device: Device
    threads: int
    """Threads of this process, for a device that computes with them."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Provider options in addition to those of the device's kind; they choose kernels, and so the last bits."""
    device_memory: int = 0
    """GiB that a session may take, 0 for all; no probability depends on it."""

    @property
    def precision(self) -> str:
        return self.bundle.variants[self.variant].precision

    @property
    def layout(self) -> str:
        return self.bundle.variants[self.variant].layout

    @property
    def attention(self) -> str:
        """Operator and kernel options as plans record them, such as ``PackedMultiHeadAttention sdpa_kernel=2``."""
        operator = PACKED_ATTENTION if self.layout == PACKED else ATTENTION
        return " ".join([operator, *(f"{name}={value}" for name, value in sorted(self.options.items()))])

    def padded(self, token_budget: int) -> Padded:
        """Arrangement of pairs in padded calls."""
        few_lengths = self.precision == "fp32" and not self.device.spec.is_host
        return Padded(token_budget, self.bundle.max_length, self.bundle.layout, few_lengths=few_lengths)

    def layout_of(self, token_budget: int) -> Layout:
        """Arrangement of pairs in calls of so many tokens."""
        if self.layout == PACKED:
            return Packed(token_budget, self.bundle.max_length, self.bundle.layout)
        return self.padded(token_budget)

    def __str__(self) -> str:
        return f"{self.bundle.name} {self.variant} on {self.device}"


def open_bundle(path: Path | str, device_name: str = "auto", precision: str = "auto") -> Bundle:
    """Open a bundle; in threads, hash the variant that will probably run and load the libraries of its device.

    Args:
        device_name: as :func:`resolve_device` takes it.
        precision: as :func:`variants_for` takes it.
    """
    bundle = Bundle.load(path)
    with suppress(ScorerError):  # what fails here or in a thread fails again where it is needed
        candidates = [parse_device(name) for name in (KINDS if device_name == "auto" else (device_name,))]
        device = next((candidate for candidate in candidates if candidate.hardware.capability), candidates[-1])
        in_thread(lambda: device.spec.prepare(runtime()))
        in_thread(partial(bundle.variant, variants_for(device, bundle, precision=precision, threads=1)[0].variant))
    return bundle


def variants_for(
    device: Device, bundle: Bundle, *, precision: str = "auto", attention: str | None = None, **settings: Any
) -> list[VariantOnDevice]:
    """Variants that may run on a device, the preferred one first.

    Args:
        precision: ``auto`` (those of the device: fp16, then fp32 on CUDA; int8, then fp32 on the CPU), or one of
            :data:`scorer.inference.PRECISIONS`.
        attention: operator and kernels as a plan recorded them; ``None`` for the preference of the device.
        settings: further fields of :class:`.VariantOnDevice`.

    Raises:
        BundleError: the bundle has none.
        DeviceError: the precision does not run there, or the device computes the attention otherwise.
    """
    precisions = [precision]
    if precision == "auto":
        bundle_precisions = {str(variant.precision) for variant in bundle.variants.values()}
        precisions = [name for name in device.spec.precisions if name in bundle_precisions] or sorted(bundle_precisions)
    if reason := device.spec.refused.get(precisions[0]):
        raise DeviceError(f"precision {precisions[0]} does not run on {device}: {reason}; choose another one")
    uses = [
        VariantOnDevice(bundle, key, device, options=device.spec.attention.get(layout, {}), **settings)
        for name in precisions
        for layout in device.spec.layouts
        for key, variant in bundle.variants.items()
        if (variant.precision, variant.layout) == (name, layout)
    ]
    if not uses:
        raise bundle.missing_variant(precisions[0])
    if attention is None:
        return uses
    for use in uses:
        if use.attention == attention:
            return [use]
    raise DeviceError(
        f"the plan records the attention {attention!r}, which bundle {bundle.name} does not have on {device}; run into "
        "a new folder"
    )


class ModelSession:
    """A session of a variant, which is hashed and opened here. Created and used in the thread of the device.

    A batch that does not fit the memory of the device is computed in smaller ones, and later batches of its size are
    divided before they run. The call after a failure returns the unused memory of the runtime's arena to the device,
    since fragments that the arena holds cannot serve a larger request.

    Attributes:
        session: the runtime's own.
        inputs: names of the graph's inputs.
    """

    def __init__(self, use: VariantOnDevice, thread: DeviceThread, layout: Layout, warn: Callable[[str], None]) -> None:
        self.use, self.layout, self._thread, self._warn = use, layout, thread, warn
        limit = use.device.spec.memory_limit
        memory = {limit: str(use.device_memory << 30)} if use.device_memory and limit else {}
        model = use.bundle.variant(use.variant)
        self.session = create_session(model, use.device, use.threads, {**use.options, **memory})
        self.inputs: tuple[str, ...] = tuple(node.name for node in self.session.get_inputs())
        self._limit = sys.maxsize
        self._failed = False

    def compute(
        self, batch: Batch, encoded: EncodedPairs, logits: npt.NDArray[np.float32], feed: Feed | None = None
    ) -> None:
        """Write the logits of a batch's pairs; pairs that do not fit the memory get the status out of memory.

        Args:
            logits: float32, *Shape:* (pairs, labels), of all pairs of the window.
            feed: inputs of the call, if they are assembled already.
        """
        smaller = self.layout.smaller(batch, encoded.lengths) if batch.tokens > self._limit else []
        if not smaller:
            feed = self.layout.assemble(batch, encoded) if feed is None else feed
            after_failure, self._failed = self._failed, False
            try:
                logits[batch.pairs] = self.run(feed, batch.rows, shrink=after_failure)[: len(batch.pairs)]
                return
            except OutOfMemoryError:
                self._failed = True
            smaller, longest = self.layout.smaller(batch, encoded.lengths), batch.sequence_length
            if not smaller:
                encoded.status[batch.pairs] = OUT_OF_MEMORY
                self._warn(f"a pair of {longest} tokens does not fit the memory of {self.use.device}")
                return
            self._limit = batch.tokens // 2
            self._warn(
                f"a batch of {len(batch.pairs)} pairs of up to {longest} tokens does not fit {self.use.device}; from "
                f"here on batches have at most {self._limit} tokens"
            )
        for part_batch in smaller:
            self.compute(part_batch, encoded, logits)

    def run(self, feed: Feed, rows: int, *, shrink: bool = False) -> npt.NDArray[np.float32]:
        """One call: logits, float32, *Shape:* (rows, labels).

        Args:
            feed: inputs of the call, by name.
            rows: pairs of the call, fillers included.
            shrink: return the memory that the arena does not use to the device when the call has ended.

        Raises:
            OutOfMemoryError: the call does not fit the memory.
            CancelledError: the call was cancelled.
            CallError: the call failed.
            BundleError: its outputs are not logits.
        """
        device, width = self.use.device, self.use.bundle.scheme.width
        arena = device.spec.arena
        feed = {name: feed[name] for name in self.inputs}
        settings = {"memory.enable_memory_arena_shrinkage": f"{arena}:{device.index}"} if shrink and arena else {}
        try:
            output = self._thread.run(self.session, feed, settings)
        except CancelledError:
            raise
        except Exception as e:  # the runtime raises its own classes, which share only Exception
            if is_out_of_memory(e):
                raise OutOfMemoryError(first_line(e)) from e
            raise CallError(f"bundle {self.use}: a call of the model failed: {first_line(e)}; {_ADVICE}") from e
        shape, kind = getattr(output, "shape", None), getattr(output, "dtype", type(output).__name__)
        if shape != (rows, width) or kind not in (np.float32, np.float16):
            raise BundleError(
                f"bundle {self.use}: the model gives logits of the shape {shape} and type {kind} for {rows} pairs, "
                f"expected ({rows}, {width}) and float32; export it again"
            )
        logits: npt.NDArray[np.float32] = output.astype(np.float32, copy=False)
        return logits
