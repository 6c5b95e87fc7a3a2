"""What ``scorer doctor`` found, as a typed result, on the console and as JSON."""

from __future__ import annotations

from ...inference.device import NEEDS_CUDNN
from ...system.codec import OpenRecord
from ...system.display import all_visible
from .console import make_console
from .figures import number, share


class BundleFindings(OpenRecord, frozen=True, kw_only=True):
    """A bundle on the device that ``auto`` takes.

    ``caveat``: why its labels should not be trusted, where that is known. ``label_agreement``: share of the probes
    whose label is that of the checkpoint. ``bound``: largest difference of a logit from the checkpoint's.
    ``invariance_error``: largest change of a logit with the other pairs of a batch; it is 0 where ``isolated``.
    ``layout``, ``attention``: how pairs lie in a call, and the operator of attention with its options. ``instead``: why
    the precision or layout that the device prefers is not used. ``pairs_per_second``: speed over the bundle's probes.
    ``matrix_flops_per_s``: rate of a plain matrix product of the precision on the device.
    """

    name: str
    path: str
    caveat: str | None
    variants: list[str]
    device: str
    precision: str
    scheme: str
    layout: str
    attention: str
    instead: str | None
    label_agreement: float
    bound: float
    invariance_error: float
    isolated: bool
    pairs_per_second: float
    matrix_flops_per_s: float | None


class GpuFindings(OpenRecord, frozen=True, kw_only=True):
    """A GPU as its driver describes it.

    ``driver_cuda``: the CUDA version that the driver supports. ``problem``: why ONNX Runtime cannot use it, if known.
    """

    name: str
    uuid: str
    capability: str
    memory_bytes: int
    driver_cuda: str
    cudnn: str | None
    problem: str | None


class Findings(OpenRecord, frozen=True, kw_only=True, omit_defaults=True):
    """``packages``: version by package, ``None`` where not installed. ``providers``: state by provider of ONNX Runtime.
    ``gpus``: those that the NVIDIA driver shows, by their number.

    ``providers`` and ``bundle`` are ``None``, and absent from the JSON, where a problem came before them.
    """

    packages: dict[str, str | None]
    problems: list[str]
    gpus: list[GpuFindings]
    providers: dict[str, str] | None = None
    bundle: BundleFindings | None = None


def print_findings(findings: Findings) -> None:
    """Print packages, providers and the bundle, a line each. Problems are the command's to report."""
    console, findings = make_console(), all_visible(findings)
    for name, version in findings.packages.items():
        console.print(f"{name}: {version or 'not installed'}")
    for index, gpu in enumerate(findings.gpus):
        cudnn = f"cuDNN {gpu.cudnn}" if gpu.cudnn else f"no cuDNN, which {NEEDS_CUDNN} need"
        console.print(
            f"cuda:{index}: {gpu.name}, {gpu.memory_bytes >> 30} GiB, compute capability {gpu.capability}, {gpu.uuid}; "
            f"driver for CUDA {gpu.driver_cuda}, {cudnn}"
        )
    for provider, state in (findings.providers or {}).items():
        console.print(f"{provider}: {state}")
    bundle = findings.bundle
    if bundle is None:
        return
    console.print(f"bundle: {bundle.name} ({bundle.path})")
    if bundle.caveat:
        console.print(f"caveat: {bundle.caveat}")
    console.print(f"variants: {', '.join(bundle.variants)}")
    console.print(f"scheme: {bundle.scheme}")
    console.print(f"device: {bundle.device}, precision {bundle.precision}, layout {bundle.layout}")
    if bundle.instead:
        console.print(f"what the device prefers is not used: {bundle.instead}")
    console.print(
        f"labels as the checkpoint gives them: {share(bundle.label_agreement)} of the probes "
        f"(largest difference of a logit {number(bundle.bound)})"
    )
    if bundle.isolated:
        console.print("batches: a pair's result does not depend on the rest of its batch")
    else:
        console.print(f"batches: a logit changes by up to {number(bundle.invariance_error)} with the rest of its batch")
    console.print(f"speed: {bundle.pairs_per_second:,.0f} pairs/s")
