"""``scorer doctor``: whether scoring works on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ScorerError
from .console import number, print_result, say, share
from .options import JsonOption, bundle_argument

if TYPE_CHECKING:
    from rich.console import Console

_PACKAGES = ("d2t-scorer", "numpy", "pyarrow", "tokenizers", "onnxruntime", "onnxruntime-gpu", "torch",
             "optimum-onnx")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BundleFindings:
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


@dataclass(frozen=True, kw_only=True)
class GpuFindings:
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


@dataclass(frozen=True, kw_only=True)
class Findings:
    """``packages``: version by package, ``None`` where not installed. ``providers``: state by provider of ONNX Runtime.
    ``gpus``: those that the NVIDIA driver shows, by their number.

    ``providers`` and ``bundle`` are ``None`` where a problem came before them.
    """

    packages: dict[str, str | None]
    problems: list[str]
    gpus: list[GpuFindings]
    providers: dict[str, str] | None
    bundle: BundleFindings | None


def doctor_command(
    bundle: Annotated[
        str,
        typer.Option(
            envvar="D2T_BUNDLE",
            metavar="B",
            help="Bundle folder, or `embedded`: verified, and used to measure the speed.",
        ),
    ] = "embedded",
    as_json: JsonOption = False,
) -> None:
    """Check the packages, the providers and a bundle.

    Create a session on each provider, verify the bundle on the device that `auto` takes, and measure its speed. Exits 2
    when scoring would not work.
    """
    from ..inference.session import conflicting_wheels

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
    print_result(findings, as_json, print_findings)
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


def print_findings(console: Console, findings: Findings) -> None:
    """Print packages, providers and the bundle, a line each. Problems are the command's to report."""
    from ..inference.device import NEEDS_CUDNN

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
