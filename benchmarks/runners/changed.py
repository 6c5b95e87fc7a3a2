"""A bare session with one option changed, to measure what that option is worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.inference.batches import Feed, Work
from scorer.inference.devices import Device
from scorer.inference.sessions import create_session, runtime

from .common import Probabilities
from .ours import open_engine, prepare, scattered, shapes_of

Results = Callable[[], Sequence[npt.NDArray[np.float32]]]
"""Fetches the logits of a pass, a batch each, after the clock has stopped."""


def bare_session(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[Probabilities, float]]:
    """As the bare session of :mod:`.ours`, changed by the setting's options.

    ``cuda``: options of the CUDA provider, in addition to ours or instead of them. ``callers``: threads
    that call the session, so that one call waits while another ends. ``bound``: inputs lie on the device before the
    clock starts and results stay there until it stops, which no program can do and no double buffering can beat.
    ``graph``: the same, and each shape's kernels are recorded as a CUDA graph and replayed.
    """
    options = spec["options"]
    engine = open_engine(spec)
    work = prepare(spec, engine)
    feeds = list(engine.feeds(work))
    cuda = dict(options.get("cuda", {}))
    if options.get("graph"):
        cuda["enable_cuda_graph"] = "1"
    session = engine.session.session
    if cuda and engine.device.kind == "cuda":
        session = create_session(engine.bundle.variant(engine.precision), engine.device, engine.threads, cuda)
    if options.get("bound") or options.get("graph"):
        one_pass = _bound(session, engine.device, feeds, work, graphs=bool(options.get("graph")))
    else:
        one_pass = _called(session, feeds, options.get("callers", 1))

    def run() -> tuple[Probabilities, float]:
        began = time.perf_counter()
        finish = one_pass()
        seconds = time.perf_counter() - began
        return scattered(work, finish()), seconds

    chosen["first_pass_seconds"] = round(run()[1], 3)
    chosen.update(shapes_of(engine, work))
    return run


def _called(session: Any, feeds: Sequence[Feed], callers: int) -> Callable[[], Results]:
    pool = ThreadPoolExecutor(callers)

    def one_pass() -> Results:
        results = list(pool.map(lambda feed: session.run(["logits"], feed)[0], feeds))
        return lambda: results

    return one_pass


def _bound(session: Any, device: Device, feeds: Sequence[Feed], work: Work, *, graphs: bool) -> Callable[[], Results]:
    ort = runtime()
    calls = []
    for batch, feed in zip(work.batches, feeds, strict=True):
        binding = session.io_binding()
        for name, array in feed.items():
            value = ort.OrtValue.ortvalue_from_numpy(array, device.kind, device.index)
            binding.bind_ortvalue_input(name, value)
        result = ort.OrtValue.ortvalue_from_shape_and_type([batch.rows, 3], np.float32, device.kind, device.index)
        binding.bind_ortvalue_output("logits", result)
        how = ort.RunOptions()
        # Each call of the runtime waits for the device by default; these wait once, at the end of the pass.
        how.add_run_config_entry("disable_synchronize_execution_providers", "1")
        if graphs and device.kind == "cuda":
            # A graph replays what it recorded with the addresses it saw, so that each batch has one of its own.
            how.add_run_config_entry("gpu_graph_id", str(len(calls)))
        calls.append((binding, how, result))

    def one_pass() -> Results:
        for binding, how, _ in calls:
            session.run_with_iobinding(binding, how)
        for binding, _, _ in calls[-1:]:
            binding.synchronize_outputs()
        return lambda: [result.numpy() for _, _, result in calls]

    return one_pass
