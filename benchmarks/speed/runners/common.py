"""Functions shared by runners: the sample, batches by length, the choice of a batch size, and the profiler."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.speed.device_trace import DeviceTrace, read_trace

Probabilities = npt.NDArray[np.float32]
"""Float32, *Shape:* (pairs, 3): contradiction, neutral and entailment in the checkpoint's column order."""


def load_pairs(spec: dict[str, Any]) -> tuple[list[tuple[str, str]], list[int]]:
    """The sample's pairs and their lengths in tokens; with the option ``pairs``, that number, spread over the
    sample."""
    content = json.loads(Path(spec["pairs"]).read_text())
    pairs, lengths = [(premise, hypothesis) for premise, hypothesis in content["pairs"]], content["tokens"]
    count = min(spec["options"].get("pairs", len(pairs)), len(pairs))
    positions = np.linspace(0, len(pairs) - 1, count).astype(int).tolist()
    return [pairs[i] for i in positions], [lengths[i] for i in positions]


def load_cuda(spec: dict[str, Any]) -> None:
    """If PyTorch is installed, let it load its CUDA libraries before the runtime searches for them."""
    if spec.get("device", "cpu").startswith("cuda"):
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401 - for what it loads


def neighbours(lengths: Sequence[int], count: int, block: int) -> list[int]:
    """Positions of about ``count`` pairs: blocks of neighbours by length, spread evenly over the lengths.

    In the whole sample, the pairs of a batch have nearly the same length. If single pairs were taken instead of blocks,
    large batches would have more padding than they really have, and small ones would be chosen.
    """
    order = np.argsort(lengths, kind="stable")
    block = min(block, len(order))
    blocks = max(1, min(count, len(order)) // block)
    starts = ((np.arange(blocks) + 0.5) / blocks * (len(order) - block)).astype(int)
    return [int(order[start + i]) for start in starts for i in range(block)]


def by_length(lengths: Sequence[int], batch: int) -> Iterator[list[int]]:
    """Positions in batches of similar length, longest first."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    for start in range(0, len(order), batch):
        yield [int(i) for i in order[start : start + batch]]


def choose(
    candidates: Sequence[Any], attempt: Callable[[Any, list[int]], Any], lengths: Sequence[int], count: int = 16
) -> Any:
    """The fastest candidate on a small sample, each measured after its own warm-up; a single one is only warmed up.

    ``candidates``: batch sizes, or tuples that end in one. ``attempt``: called with a candidate and positions of pairs.
    """
    sizes = [candidate[-1] if isinstance(candidate, tuple) else candidate for candidate in candidates]
    few = neighbours(lengths, count, max(sizes))
    timed = []
    for candidate in candidates:
        attempt(candidate, few[:: max(1, len(few) // 4)])
        if len(candidates) == 1:
            return candidate
        began = time.perf_counter()
        attempt(candidate, few)
        timed.append(time.perf_counter() - began)
    return candidates[int(np.argmin(timed))]


def synchronise(device: str) -> None:
    """Wait for a CUDA device, so that the measured time is that of the work and not of its submission."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def softmax(logits: Any) -> Probabilities:
    """Probabilities of logits; both float, *Shape:* (pairs, 3)."""
    values = np.asarray(logits, np.float64)
    weights = np.exp(values - values.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def traced(call: Callable[[], Any], device: str) -> DeviceTrace | None:
    """What the device did during a call, by PyTorch's profiler; ``None`` where nothing ran on a CUDA device."""
    from torch.profiler import ProfilerActivity, profile

    on_gpu = device.startswith("cuda")
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return read_trace(path)
