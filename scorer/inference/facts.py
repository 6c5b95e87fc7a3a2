"""What is known of a variant on a device, and how it is kept: typed when it is written and when it is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import BundleError
from . import cache
from .batches import Grid
from .cache import Use
from .numbers import finite

MINIMUM_AGREEMENT = 0.99


@dataclass(frozen=True)
class DeviceFacts:
    """Figures of a variant on a device.

    ``label_agreement``: share of probes with the checkpoint's fp32 label. ``bound``: largest |Δlogit| against it.
    ``company_bound``: largest |Δlogit| of a pair between being alone and being in company; ``isolated``: it is 0.
    """

    probes: int
    label_agreement: float
    bound: float
    company_bound: float
    isolated: bool

    @classmethod
    def of(cls, content: Any) -> DeviceFacts | None:
        """From what was kept, or ``None`` where a figure is missing, not a finite number, or out of range."""
        if not isinstance(content, dict) or content.keys() != cls.__dataclass_fields__.keys():
            return None
        probes, isolated = content["probes"], content["isolated"]
        figures = [finite(content[name]) for name in ("label_agreement", "bound", "company_bound")]
        if type(probes) is not int or not 0 < probes < 1 << 32 or type(isolated) is not bool or None in figures:
            return None
        agreement, bound, company = (figure for figure in figures if figure is not None)
        if not 0 <= agreement <= 1 or bound < 0 or company < 0 or isolated != (company == 0):
            return None
        return cls(probes, agreement, bound, company, isolated)


def read_facts(use: Use, grid: Grid) -> DeviceFacts | None:
    """The figures kept of a use, if there are any."""
    return DeviceFacts.of(cache.read(_entry(use, grid)))


def keep_facts(use: Use, grid: Grid, facts: DeviceFacts) -> None:
    """Keep figures of a use."""
    cache.write(_entry(use, grid), asdict(facts))


def refuse_disagreement(use: Use, facts: DeviceFacts) -> None:
    """Let a variant pass that keeps the checkpoint's labels on this device.

    Raises:
        BundleError: under 99 % of the probes keep their label; the variant must not be used on this device.
    """
    if not facts.label_agreement >= MINIMUM_AGREEMENT:
        raise BundleError(
            f"bundle {use.bundle.name}: the {use.variant} variant on {use.device} gives the checkpoint's "
            f"label on only {facts.label_agreement:.1%} of {facts.probes} probes (largest logit difference "
            f"{facts.bound:.3g}); choose another --precision"
        )


def _entry(use: Use, grid: Grid) -> Path:
    return cache.entry(use, "facts", grid.step, grid.token_budget, grid.max_length)
