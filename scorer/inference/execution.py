"""How a precision can run on a device: which form of the graph, with which attention kernel.

A bundle may have a precision in two forms, packed and padded. A device prefers one, and which options its provider
gets for the attention of each is a column of its row (:mod:`.devices`). What was taken is one line of text, which a
plan records and a resume reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import BundleError, DeviceError
from .bundle import Bundle
from .devices import Device


@dataclass(frozen=True)
class Execution:
    """``variant``: its name in the bundle. ``layout``: ``padded`` or ``packed``. ``operator``: of its attention.
    ``options``: of the device's provider, which choose the attention kernel. ``instead``: why the form that the device
    prefers was not taken; empty where it was."""

    variant: str
    layout: str
    operator: str
    options: Mapping[str, str] = field(default_factory=dict)
    instead: str = field(default="", compare=False)

    @property
    def attention(self) -> str:
        """Operator and options in one line, such as ``PackedMultiHeadAttention sdpa_kernel=2``."""
        return " ".join([self.operator, *(f"{name}={value}" for name, value in sorted(self.options.items()))])


def candidates(bundle: Bundle, precision: str, layout: str, on: Device) -> list[Execution]:
    """The executions of a precision that a bundle has, the preferred one first.

    Args:
        layout: ``auto`` for those that suit the device.

    Raises:
        BundleError: the bundle has none.
    """
    layouts = on.row.layouts if layout == "auto" else (layout,)
    found = [
        Execution(key, variant.layout, variant.attention, on.row.attention.get(variant.layout, {}))
        for wanted in layouts
        for key, variant in bundle.variants.items()
        if (variant.precision, variant.layout) == (precision, wanted)
    ]
    if not found:
        named = "" if layout == "auto" else f"{layout} "
        raise BundleError(
            f"bundle {bundle.name} ({bundle.path}) has no {named}{precision} variant, only "
            f"{', '.join(bundle.variants)}; choose one of these, or export it with --precision {precision}"
        )
    return found


def recorded(bundle: Bundle, precision: str, layout: str, attention: str, on: Device) -> Execution:
    """The way that a plan records.

    Raises:
        DeviceError: the bundle has no such form, or the device computes it otherwise.
    """
    for way in candidates(bundle, precision, layout, on):
        if way.attention == attention:
            return way
    raise DeviceError(
        f"the plan records the layout {layout} with the attention {attention!r}, which bundle {bundle.name} does not "
        f"have on {on}; run into a new folder"
    )
