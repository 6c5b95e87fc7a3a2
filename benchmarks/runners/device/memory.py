"""What the runtime says when a call does not fit the device, and whether half of it fits then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scorer.inference.devices import is_out_of_memory
from scorer.inference.engine import Engine
from scorer.status import OUT_OF_MEMORY

from ..ours import open_engine
from .tools import work_of

_LEFT_GIB = 3
_GIB = 1 << 30


def too_much(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """Doubles a call until it fails, then makes one of half the size; then lets the engine do what it does.

    Options: ``device_memory``: GiB that the runtime's arena may take, or 0 and ``take``: leave the process 3 GiB of the
    device besides what the session holds. ``largest``: tokens of the largest call.

    ``failed_tokens``, ``error``, ``text``: of the call that failed; ``known``: whether the program recognises it as out
    of memory. ``half``: ``ok``, or the text of its error. ``engine``: its warnings, and ``pairs``, ``lost``.
    """
    warnings: list[str] = []
    engine = open_engine(spec, warn=warnings.append)
    held = _take(spec["device"]) if spec["options"].get("take") else None

    def run() -> tuple[dict[str, Any], float]:
        found = too_much_of(engine, spec["options"], warnings)
        return {**found, "taken_gib": 0 if held is None else round(held.numel() / _GIB, 1)}, 0.0

    return run


def too_much_of(engine: Engine, options: Mapping[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The same of an engine that is open, which adds to ``warnings``."""
    session = engine.session.session

    def attempt(tokens: int) -> None:
        layout = engine.layout_of(tokens)
        work = work_of(engine, [options["length"]])
        made = layout.assemble(layout.full(work.lengths, np.zeros(1, np.int64)), work)
        session.run(["logits"], {name: made[name] for name in engine.session.inputs})

    found = grow(attempt, options["smallest"], options["largest"])
    if "failed_tokens" in found:
        work = work_of(engine, [options["length"]] * (2 * found["failed_tokens"] // options["length"]))
        work.batches = engine.layout_of(found["failed_tokens"]).pack(work.lengths, np.arange(len(work.lengths)))
        logits = engine.run_batches(work)
        found["engine"] = {
            "pairs": len(work.pairs), "lost": int((work.status == OUT_OF_MEMORY).sum()),
            "not_finite": int((~np.isfinite(logits).all(axis=1)).sum()), "warnings": warnings,
        }  # fmt: skip
    return found


def grow(attempt: Callable[[int], Any], smallest: int, largest: int) -> dict[str, Any]:
    """Doubles the tokens of a call from the smallest until one fails; then one of half of them."""
    tokens = smallest
    while tokens <= largest:
        try:
            attempt(tokens)
        except Exception as e:  # the runtime's exceptions share no base class but Exception
            found = {"failed_tokens": tokens, "error": type(e).__name__, "text": str(e)[:600]}
            return {**found, "known": is_out_of_memory(e), "half": _again(attempt, tokens // 2)}
        tokens *= 2
    return {"fits": tokens // 2}


def _again(attempt: Callable[[int], Any], tokens: int) -> str:
    try:
        attempt(tokens)
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:300]}"
    return "ok"


def _take(device: str) -> Any:
    """All of the device's free memory but a little, as one plain allocation of PyTorch."""
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    return torch.empty(max(0, free - _LEFT_GIB * _GIB), dtype=torch.uint8, device=device)
