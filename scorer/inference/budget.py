"""Tokens of a call: the choices by device, and the one that was found to be the fastest, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import cache
from .cache import Use
from .devices import Device


def usual_budget(on: Device) -> int:
    """What is right for most models on a device."""
    return on.row.token_budgets[0]


def known_budget(use: Use) -> int | None:
    """The budget on record; the usual one where each pair is computed by itself, which no budget changes."""
    if use.per_pair:
        return usual_budget(use.device)
    return read_budget(cache.read(_entry(use)), use.device)


def keep_budget(use: Use, budget: int) -> None:
    """Put the fastest budget on record."""
    cache.write(_entry(use), {"token_budget": budget})


def read_budget(content: Mapping[str, Any], on: Device) -> int | None:
    """From what was kept, or ``None`` where it is not one of the choices."""
    found = content.get("token_budget")
    return found if type(found) is int and found in on.row.token_budgets else None


def _entry(use: Use) -> Path:
    return cache.entry(use, "budget", *use.device.row.token_budgets)
