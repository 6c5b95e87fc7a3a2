"""Ways in which a precision can run on a device: which layout, which form of the graph, which attention kernels.

A bundle may have a precision in several forms (padded, and packed with one or the other attention operator), and a
device may have several attention kernels. Which of them run, agree with the checkpoint and are fastest is found out on
the device (:mod:`.settle`). What was found is one line of text, which a plan records and a resume reads.
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
    ``options``: of the device's provider, which switch attention kernels off."""

    variant: str
    layout: str
    operator: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def attention(self) -> str:
        """Operator and options in one line, such as ``PackedAttention sdpa_kernel=16``."""
        return " ".join([self.operator, *(f"{name}={value}" for name, value in sorted(self.options.items()))])


def ways(bundle: Bundle, precision: str, layout: str, on: Device) -> list[Execution]:
    """The ways to run a precision that a bundle has, the preferred one first, with all attention kernels.

    Args:
        layout: ``auto`` for those that suit the device.

    Raises:
        BundleError: the bundle has none.
    """
    layouts = on.row.layouts if layout == "auto" else (layout,)
    found = [
        Execution(key, variant.layout, variant.attention)
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
        DeviceError: the bundle has no such form, or an option is not one of the device's.
    """
    operator, *settings = attention.split()
    options = dict(setting.partition("=")[::2] for setting in settings)
    for way in ways(bundle, precision, layout, on):
        if way.operator == operator and options in ({}, *map(dict, on.row.fallbacks)):
            return Execution(way.variant, way.layout, way.operator, options)
    raise DeviceError(
        f"the plan records the layout {layout} with the attention {attention!r}, which bundle {bundle.name} does not "
        f"have on {on}; run into a new folder"
    )
