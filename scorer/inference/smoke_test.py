"""The child process that a variant is tried in: ``python -m scorer.inference.smoke_test``; see :mod:`.first_use`.

It does what a run does first: opens the bundle, its tokenizer and a session, and puts the probes through them. It
prints a line whenever something is done, and at the end what it measured, or the error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from msgspec.structs import asdict

from ..errors import BundleError, MissingDependencyError, ScorerError
from ..system import children
from ..system.progress import tell
from .bundle import Bundle
from .calibrate import measure_budget
from .engine import Engine
from .sessions import first_line, runtime
from .verify import measure

_TICK_S = 0.5
_SAYING = threading.Lock()


def main(arguments: list[str]) -> NoReturn:
    """Try one variant. Arguments: the parent's process id, and what is asked as JSON."""
    asked = json.loads(arguments[1])
    children.die_with(int(arguments[0]))
    replies = children.replies()
    _go_first()
    try:
        runtime()
    except MissingDependencyError as e:
        _say(replies, _error(e))
    children.limit_process(asked["memory"])
    tell(partial(_say_that_it_moves, replies), _TICK_S)
    try:
        answer = _try(asked)
    except ScorerError as e:
        answer = _error(e)
    except MemoryError:
        answer = _error(BundleError(f"bundle {asked['bundle']}: its model takes more memory than a smoke test may use"))
    except BaseException as e:  # whatever a bundle makes a library raise, is about the bundle
        answer = _error(BundleError(f"bundle {asked['bundle']} cannot be used: {type(e).__name__}: {first_line(e)}"))
    _say(replies, answer)


def _try(asked: dict[str, Any]) -> dict[str, Any]:
    bundle = Bundle.load(asked["bundle"])
    if bundle.sha256 != asked["sha256"]:
        raise BundleError(f"bundle {asked['bundle']} was changed while it was opened; run again")
    budget = asked["budget"]
    engine = _open(bundle, asked, budget)
    if budget is None:
        budget = measure_budget(engine)
        if budget != engine.grid.token_budget:
            engine.close()
            engine = _open(bundle, asked, budget)
    return {"token_budget": budget, "facts": asdict(measure(engine))}


def _open(bundle: Bundle, asked: dict[str, Any], budget: int | None) -> Engine:
    return Engine(bundle, **asked["engine"], token_budget=budget, in_smoke_test=True)


def _say_that_it_moves(replies: int) -> None:
    with _SAYING:
        os.write(replies, b"+\n")


def _say(replies: int, answer: dict[str, Any]) -> NoReturn:
    line = memoryview(json.dumps(answer, allow_nan=False).encode("ascii") + b"\n")
    with _SAYING:
        while line:
            line = line[os.write(replies, line) :]
        # Threads of a call that does not end would be waited for.
        os._exit(0)


def _error(error: ScorerError) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": " ".join(str(error).split())[:1800]}


def _go_first() -> None:
    """If the machine runs out of memory, the system ends this process first."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main(sys.argv[1:])
