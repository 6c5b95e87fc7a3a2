"""A form's numbers on the bundle's probes: against the checkpoint's fp32, and alone against in company."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from scorer.inference.verify import measure

from ..ours import open_engine


def facts(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """The fields of :class:`scorer.inference.facts.DeviceFacts`, measured now.

    ``invariance_error`` is the largest |Δlogit| between a pair alone and the same pair in a group, in reverse order,
    in a group of another size, and in a full call.
    """
    engine = open_engine(spec)

    def run() -> tuple[dict[str, Any], float]:
        began = time.perf_counter()
        found = asdict(measure(engine))
        return found, time.perf_counter() - began

    return run
