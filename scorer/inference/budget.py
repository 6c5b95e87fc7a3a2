"""Tokens of a call: the choices by device, and the one that was found to be the fastest, as it is kept."""

from __future__ import annotations

from pathlib import Path

from . import cache
from .cache import Use
from .devices import Device


class KeptBudget(cache.Entry, frozen=True):
    """The fastest budget of a variant on a device."""

    token_budget: int


def usual_budget(on: Device) -> int:
    """What is right for most models on a device."""
    return on.row.token_budgets[0]


def known_budget(use: Use) -> int | None:
    """The budget on record."""
    kept = cache.read(_entry(use), KeptBudget)
    return read_budget(kept.token_budget, use.device) if kept is not None else None


def keep_budget(use: Use, budget: int) -> None:
    """Put the fastest budget on record."""
    cache.write(_entry(use), KeptBudget(budget))


def read_budget(found: object, on: Device) -> int | None:
    """What was kept or answered, or ``None`` where it is not one of the choices."""
    return found if type(found) is int and found in on.row.token_budgets else None


def _entry(use: Use) -> Path:
    return cache.entry(use, "budget", *use.device.row.token_budgets)
