"""The first use of a variant on a device: tried in a child process before this one opens anything of it.

A graph or a tokenizer may hang, crash or take all memory, with valid hashes. So what has not been seen on a device is
opened by :mod:`.smoke_test` first, in a process of bounded memory that must show progress; what happens to it there is
an error here. What it measured is kept (:mod:`.facts`), and where something is kept no process is started.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BundleError, CallError, DeviceError, MissingDependencyError, ScorerError
from ..system.children import Spawned
from ..system.progress import advance
from .batches import Grid
from .cache import Use
from .facts import DeviceFacts, keep_budget, keep_facts, known_budget, read_budget, read_facts

SMOKE_TEST = "scorer.inference.smoke_test"
SILENCE_S = 90.0
"""Longest time without progress, and so of one call; more for a large model, by its bytes."""
LONGEST_S = 3600.0
TIMES_MODEL = 5
"""Memory in sizes of the ONNX file: as it was read, parsed, optimised, arranged for the kernels, and activations."""
_BYTES_A_SECOND = 10e6
_LOOK_S = 0.02
_LARGEST_REPLY = 1 << 20
_ERRORS: dict[str, type[ScorerError]] = {
    e.__name__: e for e in (BundleError, CallError, DeviceError, MissingDependencyError)
}


class _GoneError(Exception):
    """How the child ended without an answer."""


def require_smoke_test(use: Use, model: Path, grid: Grid, budget: int | None, say: Callable[[str], None]) -> None:
    """Return once a variant is known to run on its device; at once where that is on record.

    Args:
        model: its checked ONNX file.
        grid: the shapes it will run in.
        budget: tokens a batch; ``None`` to have the fastest chosen, which is kept as well.
        say: told that a smoke test begins.

    Raises:
        BundleError, DeviceError: it does not run here, or not in the bounds.
    """
    known = known_budget(use) if budget is None else budget
    if known is not None and read_facts(use, grid.with_budget(known)) is not None:
        return
    say(f"first use of {use}: verifying in a process of its own")
    answer = _ask(use, model, grid, budget)
    facts, chosen = DeviceFacts.of(answer.get("facts")), read_budget(answer.get("token_budget"), use.device)
    if budget is not None:
        chosen = budget
    if facts is None or chosen is None:
        raise BundleError(
            f"bundle {use}: its smoke test gave {answer!r:.200}, which is not a result; see `scorer doctor`"
        )
    if budget is None:
        keep_budget(use, chosen)
    keep_facts(use, grid.with_budget(chosen), facts, say)


def _ask(use: Use, model: Path, grid: Grid, budget: int | None) -> dict[str, Any]:
    size = model.stat().st_size
    memory = use.device.row.smoke_test_memory + TIMES_MODEL * size
    asked = {
        "bundle": str(use.bundle.path.absolute()),
        "sha256": use.bundle.sha256,
        "engine": {
            "device": str(use.device),
            "precision": use.precision,
            "layout": use.layout,
            "attention": use.attention,
            "device_memory": use.device_memory,
            "threads": use.threads,
            "step": grid.step,
        },
        "budget": budget,
        # Stacks of threads are reserved and hardly used.
        "memory": memory + (2 << 30) + use.threads * (16 << 20) if use.device.row.limits_smoke_test else None,
    }
    try:
        child = Spawned(SMOKE_TEST, [json.dumps(asked)])
    except OSError as e:
        raise BundleError(f"bundle {use}: no process could be started to try it in: {e.strerror or e}") from e
    try:
        answer = _listen(child, memory, SILENCE_S + size / _BYTES_A_SECOND)
    except _GoneError as e:
        raise BundleError(
            f"bundle {use}: the process that tried it {e}; a bundle that `scorer export` wrote does not do that: "
            "export it again, or choose another --precision or --device"
        ) from e
    finally:
        child.process.kill()
        child.close()
    if "error" in answer:
        raise _ERRORS.get(str(answer["error"]), BundleError)(str(answer.get("message"))[:2000])
    return answer


def _listen(child: Spawned, memory: int, silence_s: float) -> dict[str, Any]:
    """The last line that the child prints. Any other line shows that it makes progress."""
    began = heard = time.monotonic()
    poll = select.poll()
    poll.register(child.stdout, select.POLLIN)
    said = b""
    while True:
        if poll.poll(_LOOK_S * 1000):
            part = os.read(child.stdout.fileno(), 1 << 16)
            if not part:
                raise _GoneError(f"ended: {child.how()}")
            heard = time.monotonic()
            advance()
            said += part
            if len(said) > _LARGEST_REPLY:
                raise _GoneError("said too much")
            *_, last = said.rstrip(b"\n").split(b"\n")
            if said.endswith(b"\n") and last.startswith(b"{"):
                return _parsed(last)
        resident = _resident(child.process.pid)
        if resident > memory:
            raise _GoneError(f"took more than {memory >> 20:,} MiB of memory")
        now = time.monotonic()
        if now - heard > silence_s:
            raise _GoneError(f"was stopped after {silence_s:.0f} s without progress")
        if now - began > LONGEST_S:
            raise _GoneError(f"was stopped after {LONGEST_S:.0f} s of work on a few hundred pairs")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise _GoneError(f"said {line!r:.80}") from e
    return found if isinstance(found, dict) else {}


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
