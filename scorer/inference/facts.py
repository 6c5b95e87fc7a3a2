"""What is known of a variant on a device, and how it is kept: its figures, and the number of tokens of a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from ..errors import BundleError
from . import cache
from .batches import Grid
from .cache import Use
from .devices import Device

MINIMUM_AGREEMENT = 0.99


class DeviceFacts(cache.Entry, frozen=True):
    """Figures of a variant on a device.

    ``label_agreement``: share of probes with the checkpoint's fp32 label. ``bound``: largest |Δlogit| against it.
    ``invariance_error``: largest |Δlogit| of a pair between being alone and with others; ``isolated``: 0.
    """

    probes: Annotated[int, Meta(gt=0)]
    label_agreement: Annotated[float, Meta(ge=0, le=1)]
    bound: Annotated[float, Meta(ge=0)]
    invariance_error: Annotated[float, Meta(ge=0)]
    isolated: bool

    def __post_init__(self) -> None:
        if self.isolated != (self.invariance_error == 0):
            raise ValueError(f"isolated is {self.isolated}, and invariance_error {self.invariance_error}")

    @classmethod
    def of(cls, content: Any) -> DeviceFacts | None:
        """From what a smoke test answers, or ``None`` where a figure is missing, not a number, or out of range."""
        try:
            return convert(content, cls)
        except ValidationError:
            return None


class KeptBudget(cache.Entry, frozen=True):
    """The fastest budget of a variant on a device."""

    token_budget: int


def read_facts(use: Use, grid: Grid) -> DeviceFacts | None:
    """The figures kept of a use, if there are any."""
    return cache.read(_entry(use, grid), DeviceFacts)


def keep_facts(use: Use, grid: Grid, facts: DeviceFacts, say: Callable[[str], None]) -> None:
    """Keep figures of a use. ``say``: is told if they cannot be kept beyond this process."""
    if why := cache.write(_entry(use, grid), facts):
        say(f"note: {why}")


def disagreement(use: Use, facts: DeviceFacts) -> str:
    """What is wrong with a variant that does not keep the checkpoint's labels on this device; empty where it does."""
    if facts.label_agreement >= MINIMUM_AGREEMENT:
        return ""
    return (
        f"bundle {use.bundle.name}: the {use.variant} variant on {use.device} gives the checkpoint's "
        f"label on only {facts.label_agreement:.1%} of {facts.probes} probes (largest logit difference "
        f"{facts.bound:.3g})"
    )


def refuse_disagreement(use: Use, facts: DeviceFacts) -> None:
    """Let a variant pass that keeps the checkpoint's labels on this device.

    Raises:
        BundleError: under 99 % of the probes keep their label; the variant must not be used on this device.
    """
    if why := disagreement(use, facts):
        raise BundleError(f"{why}; choose another --precision")


def usual_budget(on: Device) -> int:
    """Tokens of a call that are right for most models on a device."""
    return on.row.token_budgets[0]


def known_budget(use: Use) -> int | None:
    """The fastest budget on record."""
    kept = cache.read(_budget_entry(use), KeptBudget)
    return read_budget(kept.token_budget, use.device) if kept is not None else None


def keep_budget(use: Use, budget: int) -> None:
    """Put the fastest budget on record."""
    cache.write(_budget_entry(use), KeptBudget(budget))


def read_budget(found: object, on: Device) -> int | None:
    """What was kept or answered, or ``None`` where it is not one of the choices."""
    return found if type(found) is int and found in on.row.token_budgets else None


def _entry(use: Use, grid: Grid) -> Path:
    return cache.entry(use, "facts", grid.step, grid.token_budget, grid.max_length)


def _budget_entry(use: Use) -> Path:
    return cache.entry(use, "budget", *use.device.row.token_budgets)
