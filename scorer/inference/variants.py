"""Which variant of a bundle may run on a device: precision, form of the graph, and kernels of its attention.

A bundle may have a precision in two forms, packed and padded. A device prefers one, and which options its provider
gets for the attention of each is a field of its kind (:mod:`.device`). What was taken is one line of text, which a plan
records and a resume reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import BundleError, DeviceError
from .batching import Grid
from .bundle import Bundle
from .choices import PRECISIONS
from .device import Device


@dataclass(frozen=True)
class Execution:
    """A form of a precision, and the kernels of its attention.

    ``variant``: its name in the bundle. ``layout``: ``padded`` or ``packed``. ``operator``: of its attention.
    ``options``: of the device's provider, which choose the attention kernel.
    """

    variant: str
    layout: str
    operator: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def attention(self) -> str:
        """Operator and options in one line, such as ``PackedMultiHeadAttention sdpa_kernel=2``; plans record it."""
        return " ".join([self.operator, *(f"{name}={value}" for name, value in sorted(self.options.items()))])


@dataclass(frozen=True)
class VariantOnDevice:
    """A variant of a bundle on a device, with so many threads where it computes with those of this process.

    ``options``: of the provider, besides those of the device's kind; they choose kernels, and so the last bits.
    ``device_memory``: GiB of the device that a session may take, 0 for all; no number depends on it. ``step``: of
    padded lengths, in tokens.
    """

    bundle: Bundle
    variant: str
    device: Device
    threads: int
    options: Mapping[str, str] = field(default_factory=dict)
    device_memory: int = 0
    step: int = 8

    @property
    def precision(self) -> str:
        return self.bundle.variants[self.variant].precision

    @property
    def layout(self) -> str:
        return self.bundle.variants[self.variant].layout

    @property
    def attention(self) -> str:
        """See :attr:`Execution.attention`."""
        operator = self.bundle.variants[self.variant].attention
        return Execution(self.variant, self.layout, operator, self.options).attention

    @property
    def usual_budget(self) -> int:
        """Tokens of a call that are right for most models on this kind of device."""
        return self.device.spec.token_budgets[0]

    def grid(self, token_budget: int) -> Grid:
        """The shapes of its padded calls."""
        few = self.precision == "fp32" and self.device.spec.few_lengths
        return Grid(self.step, token_budget, self.bundle.max_length, few)

    def __str__(self) -> str:
        return f"{self.bundle.name} {self.variant} on {self.device}"


@dataclass(frozen=True)
class VariantChoice:
    """Which variants of a bundle may run.

    ``precision``: ``auto`` (the first of :func:`precisions` that keeps the checkpoint's labels on the device), or one
    of :data:`.choices.PRECISIONS`. ``token_budget``: tokens a batch, padding included; ``None`` for what verification
    finds. ``step``: of padded lengths, in tokens. ``threads``: processors to use on the CPU. ``layout``: ``auto``,
    ``packed`` or ``padded``. ``attention``: operator and kernels as a plan recorded them; ``None`` for what the device
    prefers. ``device_memory``: GiB of a GPU's memory that each session may take; 0 for all.
    """

    bundle: Bundle
    precision: str = "auto"
    token_budget: int | None = None
    step: int = 8
    threads: int = 1
    layout: str = "auto"
    attention: str | None = None
    device_memory: int = 0

    def variants(self, on: Device) -> list[list[VariantOnDevice]]:
        """For each precision, the preferred one first, the variants that may run, the preferred one first.

        Raises:
            BundleError, DeviceError: there is none.
        """
        found = precisions(self.bundle, self.precision, on)
        if self.attention is not None:
            forms = [[recorded_execution(self.bundle, found[0], self.layout, self.attention, on)]]
        else:
            forms = [executions(self.bundle, precision, self.layout, on) for precision in found]
        return [[self._variant(one, on) for one in group] for group in forms]

    def _variant(self, execution: Execution, on: Device) -> VariantOnDevice:
        variant, options = execution.variant, execution.options
        return VariantOnDevice(self.bundle, variant, on, self.threads, options, self.device_memory, self.step)


def precisions(bundle: Bundle, asked: str, device: Device) -> list[str]:
    """The precisions that ``asked`` means on a device: one, or for ``auto`` those of the bundle that run there, the
    preferred one first (fp16 on CUDA, int8 on the CPU).

    Raises:
        BundleError: it is not known. DeviceError: it does not run on the device.
    """
    refused = device.spec.refused
    if asked != "auto":
        if asked not in PRECISIONS:
            raise BundleError(f"precision {asked!r} is not known; choose from auto, {', '.join(PRECISIONS)}")
        if asked in refused:
            raise DeviceError(f"precision {asked} does not run on {device}: {refused[asked]}; choose another one")
        return [asked]
    usable: list[str] = list(dict.fromkeys(v.precision for v in bundle.variants.values() if v.precision not in refused))
    if not usable:
        (name, reason), *_ = refused.items()
        raise DeviceError(f"bundle {bundle.name} has only {name}, which does not run on {device}: {reason}")
    return [name for name in device.spec.precisions if name in usable] or usable


def executions(bundle: Bundle, precision: str, layout: str, on: Device) -> list[Execution]:
    """The executions of a precision that a bundle has, the preferred one first.

    Args:
        layout: ``auto`` for those that suit the device.

    Raises:
        BundleError: the bundle has none.
    """
    layouts = on.spec.layouts if layout == "auto" else (layout,)
    found = [
        Execution(key, variant.layout, variant.attention, on.spec.attention.get(variant.layout, {}))
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


def recorded_execution(bundle: Bundle, precision: str, layout: str, attention: str, on: Device) -> Execution:
    """The execution that a plan records.

    Raises:
        DeviceError: the bundle has no such form, or the device computes it otherwise.
    """
    for execution in executions(bundle, precision, layout, on):
        if execution.attention == attention:
            return execution
    raise DeviceError(
        f"the plan records the layout {layout} with the attention {attention!r}, which bundle {bundle.name} does not "
        f"have on {on}; run into a new folder"
    )
