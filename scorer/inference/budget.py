"""Tokens of a batch: the choices by device, and the one that was found to be the fastest, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import cache
from .cache import Use

TOKEN_BUDGETS = {"cpu": (1024, 512, 2048, 4096), "cuda": (65536, 16384, 32768, 131072)}
"""Tokens a batch by device, padding included: the usual number, then others that :mod:`.calibrate` tries."""


def usual_budget(kind: str) -> int:
    """What is right for most models on a kind of device."""
    return TOKEN_BUDGETS[kind][0]


def known_budget(use: Use) -> int | None:
    """The budget on record; the usual one where each pair is computed by itself, which no budget changes."""
    if use.per_pair:
        return usual_budget(use.device.kind)
    return read_budget(cache.read(_entry(use)), use.device.kind)


def keep_budget(use: Use, budget: int) -> None:
    """Put the fastest budget on record."""
    cache.write(_entry(use), {"token_budget": budget})


def read_budget(content: Mapping[str, Any], kind: str) -> int | None:
    """From what was kept, or ``None`` where it is not one of the choices."""
    found = content.get("token_budget")
    return found if type(found) is int and found in TOKEN_BUDGETS[kind] else None


def _entry(use: Use) -> Path:
    return cache.entry(use, "budget", *TOKEN_BUDGETS[use.device.kind])
