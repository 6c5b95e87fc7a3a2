"""``scorer doctor``: whether scoring works on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ScorerError
from .common import bundle_argument, present, say

if TYPE_CHECKING:
    from .console.doctor import BundleFindings, GpuFindings

_PACKAGES = ("d2t-scorer", "numpy", "pyarrow", "tokenizers", "onnxruntime", "onnxruntime-gpu", "torch",
             "optimum-onnx")  # fmt: skip


def doctor_command(
    bundle: Annotated[
        str,
        typer.Option(
            "--bundle",
            envvar="D2T_BUNDLE",
            metavar="B",
            help="Bundle folder, or `embedded`: verified, and used to measure the speed.",
        ),
    ] = "embedded",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the packages, the providers and a bundle.

    Create a session on each provider, verify the bundle on the device that `auto` takes, and measure its speed. Exits 2
    when scoring would not work.
    """
    from ..inference.session import conflicting_wheels
    from .console.doctor import Findings, print_findings

    problems: list[str] = []
    gpus: list[GpuFindings] = []
    providers = opened = None
    try:
        bundle = bundle_argument(bundle, "--bundle")
        gpus = _gpus()
        problems += [gpu.problem for gpu in gpus if gpu.problem]
        providers = _providers()
        opened = _bundle(bundle)
    except ScorerError as error:
        problems.append(str(error))
    if names := conflicting_wheels():
        problems.append(
            f"{' and '.join(names)} are installed in one folder and shadow each other; uninstall both, then install one"
        )
    findings = Findings(packages=_packages(), problems=problems, gpus=gpus, providers=providers, bundle=opened)
    present(findings, as_json, print_findings)
    if problems:
        for problem in problems:
            say(f"problem: {problem}")
        raise typer.Exit(2)


def runtime_lines() -> list[str]:
    """The version of ONNX Runtime and the providers it was built with, for ``--version``."""
    from ..inference.session import runtime

    try:
        ort = runtime()
    except ScorerError as error:
        return [str(error)]
    return [f"onnxruntime {ort.__version__}: {', '.join(ort.get_available_providers())}"]


def _packages() -> dict[str, str | None]:
    from importlib import metadata

    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _providers() -> dict[str, str]:
    """Provider → ``starts``, or why not. A session is created on each: a provider that is listed may still fail."""
    from ..inference.device import KINDS
    from ..inference.session import resolve_device, runtime

    kinds = {row.provider: name for name, row in KINDS.items()}
    found = {}
    for provider in runtime().get_available_providers():
        kind = kinds.get(provider)
        if kind is None:
            found[provider] = "not used by this program"
            continue
        try:
            resolve_device(kind)
            found[provider] = "starts"
        except ScorerError as error:
            found[provider] = f"does not start: {error}"
    return found


def _gpus() -> list[GpuFindings]:
    """The GPUs that the driver shows this process, and whether ONNX Runtime has kernels for them."""
    from ..inference.device import kernels_missing, read_gpu
    from ..inference.session import runtime
    from .console.doctor import GpuFindings

    found: list[GpuFindings] = []
    while (gpu := read_gpu(len(found))) is not None:
        found.append(
            GpuFindings(
                name=gpu.name,
                uuid=gpu.uuid,
                capability=gpu.capability,
                memory_bytes=gpu.memory,
                driver_cuda=gpu.driver,
                cudnn=gpu.cudnn or None,
                problem=kernels_missing(gpu.capability, str(runtime().__version__)),
            )
        )
    return found


def _bundle(bundle: str) -> BundleFindings:
    """Verify a bundle on this device, and measure pairs per second over its own probes."""
    from ..inference.bundle import Bundle
    from ..inference.engine import Engine
    from ..inference.verification import matrix_rate
    from .console.doctor import BundleFindings

    opened = Bundle.load(bundle)
    engine = Engine.open(opened, warn=say)
    report = engine.report
    assert report is not None
    probes = opened.probes()
    few = slice(0, max(1, len(probes.premises) // 4))
    engine.logits(probes.premises[:4], probes.hypotheses[:4])  # warm up
    started = time.perf_counter()
    engine.logits(probes.premises[few], probes.hypotheses[few])
    seconds = time.perf_counter() - started
    matrix = matrix_rate(engine.device, engine.precision, engine.threads)
    engine.close()
    return BundleFindings(
        name=opened.name,
        path=str(Path(opened.path)),
        caveat=opened.manifest.caveat,
        variants=list(opened.variants),
        device=f"{engine.device} ({engine.device.name})",
        precision=engine.precision,
        scheme=opened.scheme.summary,
        layout=engine.use.layout,
        attention=engine.use.attention,
        instead=engine.fallback_reason or None,
        label_agreement=report.agreement,
        bound=report.bound,
        invariance_error=report.invariance_error,
        isolated=report.isolated,
        pairs_per_second=round(len(probes.premises[few]) / seconds, 1),
        matrix_flops_per_s=matrix,
    )
