"""``scorer doctor``: whether scoring works on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

import typer

from ..errors import ScorerError
from ..system.arguments import option
from .console import number, print_result, say, share
from .options import JSON, bundle_argument

if TYPE_CHECKING:
    from rich.console import Console

    from ..inference.device import Hardware
    from ..inference.engine import DeviceReport

_PACKAGES = ("d2t-scorer", "numpy", "pyarrow", "tokenizers", "onnxruntime", "onnxruntime-gpu", "torch",
             "optimum-onnx")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BundleFindings:
    """A bundle on the device that ``auto`` takes."""

    name: str
    path: str
    caveat: str | None
    """Why its labels should not be trusted; ``None`` if no reason is known."""
    variants: list[str]
    scheme: str
    device: str
    precision: str
    layout: str
    attention: str
    instead: str | None
    """Why the precision or layout that the device prefers is not used."""
    report: DeviceReport
    """The result of its verification."""
    pairs_per_second: float
    """The speed, over its probes."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The state of this machine."""

    packages: dict[str, str | None]
    """Version by package, ``None`` for one that is not installed."""
    problems: list[str]
    """Reasons why scoring would not work."""
    gpus: list[Hardware]
    """GPUs that the NVIDIA driver shows."""
    providers: dict[str, str] | None
    """State by provider of ONNX Runtime; ``None`` after an earlier problem."""
    bundle: BundleFindings | None
    """The verified bundle; ``None`` after an earlier problem."""


def doctor_command(
    bundle: str = option(
        "Bundle folder, or `embedded`: verified, and used to measure the speed.", "B", "embedded", variable=True
    ),
    as_json: bool = JSON,
) -> None:
    """Check the packages, the providers and a bundle.

    Create a session on each provider, verify the bundle on the device that `auto` takes, and measure its speed. Exits 2
    when scoring would not work.
    """
    from ..inference.diagnosis import conflicting_wheels, find_gpus, kernels_missing
    from ..inference.session import runtime

    problems: list[str] = []
    providers = opened = None
    gpus = find_gpus()
    try:
        bundle = bundle_argument(bundle, "--bundle")
        reasons = (kernels_missing(gpu.capability, str(runtime().__version__)) for gpu in gpus)
        problems += filter(None, reasons)
        providers = _providers()
        opened = _verified(bundle)
    except ScorerError as error:
        problems.append(str(error))
    if names := conflicting_wheels():
        problems.append(
            f"{' and '.join(names)} are installed in one folder and shadow each other; uninstall both, then install one"
        )
    packages = {name: _version(name) for name in _PACKAGES}
    findings = Findings(packages=packages, problems=problems, gpus=gpus, providers=providers, bundle=opened)
    print_result(findings, as_json, print_findings)
    for problem in problems:
        say(f"problem: {problem}")
    if problems:
        raise typer.Exit(2)


def runtime_lines() -> list[str]:
    """The version of ONNX Runtime and the providers it was built with, for ``--version``."""
    from ..inference.session import runtime

    try:
        ort = runtime()
    except ScorerError as error:
        return [str(error)]
    return [f"onnxruntime {ort.__version__}: {', '.join(ort.get_available_providers())}"]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _providers() -> dict[str, str]:
    """The state by provider: ``starts``, or why it does not. Creates a session on each: a listed one may still fail."""
    from ..inference.device import KINDS
    from ..inference.session import resolve_device, runtime

    kinds = {row.provider: name for name, row in KINDS.items()}
    states = {}
    for provider in runtime().get_available_providers():
        states[provider] = "starts" if provider in kinds else "not used by this program"
        try:
            if provider in kinds:
                resolve_device(kinds[provider])
        except ScorerError as error:
            states[provider] = f"does not start: {error}"
    return states


def _verified(bundle: str) -> BundleFindings:
    """Verify a bundle on this device, and measure pairs per second over its own probes."""
    from ..inference.bundle import Bundle
    from ..inference.diagnosis import caveat, describe_scheme
    from ..inference.verification import open_engine

    opened = Bundle.load(bundle)
    engine = open_engine(opened, warn=say)
    assert engine.report is not None
    probes = opened.probes()
    sample = slice(0, max(1, len(probes.premises) // 4))
    engine.logits(probes.premises[:4], probes.hypotheses[:4])  # warm up
    started = time.perf_counter()
    engine.logits(probes.premises[sample], probes.hypotheses[sample])
    seconds = time.perf_counter() - started
    engine.close()
    return BundleFindings(
        name=opened.name,
        path=str(opened.path),
        caveat=caveat(opened.manifest),
        variants=list(opened.variants),
        scheme=describe_scheme(opened.scheme),
        device=f"{engine.device} ({engine.device.hardware.name})",
        precision=engine.precision,
        layout=engine.use.layout,
        attention=engine.use.attention,
        instead=engine.fallback_reason or None,
        report=engine.report,
        pairs_per_second=round(len(probes.premises[sample]) / seconds, 1),
    )


def print_findings(console: Console, findings: Findings) -> None:
    """Print packages, providers and the bundle, a line each. Problems are the command's to report."""
    from ..inference.diagnosis import CUDNN_MISSING

    lines: dict[str, object] = {name: version or "not installed" for name, version in findings.packages.items()}
    for index, gpu in enumerate(findings.gpus):
        cudnn = f"cuDNN {gpu.cudnn}" if gpu.cudnn else CUDNN_MISSING
        lines[f"cuda:{index}"] = (
            f"{gpu.name}, {gpu.memory >> 30} GiB, compute capability {gpu.capability}, {gpu.uuid}; "
            f"driver for CUDA {gpu.driver}, {cudnn}"
        )
    lines |= findings.providers or {}
    if (bundle := findings.bundle) is not None:
        report = bundle.report
        isolated = "a pair's result does not depend on the rest of its batch"
        if report.invariance_error:
            isolated = f"a logit changes by up to {number(report.invariance_error)} with the rest of its batch"
        lines |= {
            "bundle": f"{bundle.name} ({bundle.path})",
            "caveat": bundle.caveat,
            "variants": ", ".join(bundle.variants),
            "scheme": bundle.scheme,
            "device": f"{bundle.device}, precision {bundle.precision}, layout {bundle.layout}",
            "what the device prefers is not used": bundle.instead,
            "labels as the checkpoint gives them": f"{share(report.agreement)} of the probes (largest difference of a "
            f"logit {number(report.bound)})",
            "batches": isolated,
            "speed": f"{bundle.pairs_per_second:,.0f} pairs/s",
        }
    for name, value in lines.items():
        if value:
            console.print(f"{name}: {value}")
