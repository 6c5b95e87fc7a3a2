"""``scorer doctor``: what would run here."""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ScorerError
from .common import guarded, print_json, say, tell

_PACKAGES = ("d2t-scorer", "numpy", "pyarrow", "tokenizers", "onnxruntime", "onnxruntime-gpu", "torch", "optimum-onnx")


@guarded
def doctor_command(
    bundle: Annotated[
        str, typer.Option("--bundle", metavar="B", help="Bundle to look at and to probe the speed with.")
    ] = "embedded",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """What would run here: packages, providers that really start, the bundle, a speed probe.

    Exits 2 when scoring would not work.
    """
    from ..storage.local_paths import local_path

    findings: dict[str, Any] = {"packages": _packages(), "problems": []}
    try:
        bundle = str(local_path(bundle, "--bundle"))
        findings["providers"] = _providers()
        findings["bundle"] = _bundle(bundle)
    except ScorerError as error:
        findings["problems"].append(str(error))
    if len(_wheels()) > 1:
        findings["problems"].append(
            "both onnxruntime and onnxruntime-gpu are installed; they shadow each other: uninstall both, install one"
        )
    if as_json:
        print_json(findings)
    else:
        _print(findings)
    if findings["problems"]:
        for problem in findings["problems"]:
            say(f"problem: {problem}")
        raise typer.Exit(2)


def runtime_lines() -> list[str]:
    """What ``--version`` says of ONNX Runtime: its version and the providers it was built with."""
    from ..inference.sessions import runtime

    try:
        ort = runtime()
    except ScorerError as error:
        return [str(error)]
    return [f"onnxruntime {ort.__version__}: {', '.join(ort.get_available_providers())}"]


def _packages() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _wheels() -> dict[str, str]:
    from ..inference.sessions import installed_wheels

    return installed_wheels()


def _providers() -> dict[str, str]:
    """Provider → ``starts``, or why not: a session is created on each, since being listed proves nothing."""
    from ..inference.sessions import CPU, CUDA, OWN_GRAPH, create_session, resolve_device, runtime

    found = {}
    for provider in runtime().get_available_providers():
        word = {CPU: "cpu", CUDA: "cuda"}.get(provider)
        if word is None:
            found[provider] = "not used by this program"
            continue
        try:
            create_session(OWN_GRAPH, resolve_device(word), 1)
            found[provider] = "starts"
        except ScorerError as error:
            found[provider] = f"does not start: {error}"
    return found


def _bundle(bundle: str) -> dict[str, Any]:
    """The bundle's facts on this device, and pairs per second over its own probes."""
    from ..inference.bundle import Bundle
    from ..inference.engine import Engine
    from ..inference.verify import verify

    opened = Bundle.load(bundle)
    engine = Engine(opened)
    facts = verify(engine, say)
    probes = opened.probes()
    few = slice(0, max(1, len(probes.premises) // 4))
    engine.logits(probes.premises[:4], probes.hypotheses[:4])  # warm up
    started = time.perf_counter()
    engine.logits(probes.premises[few], probes.hypotheses[few])
    seconds = time.perf_counter() - started
    engine.close()
    return {
        "name": opened.name,
        "path": str(Path(opened.path)),
        "variants": list(opened.variants),
        "device": f"{engine.device} ({engine.device.name})",
        "precision": engine.precision,
        "label_agreement": facts.label_agreement,
        "bound": facts.bound,
        "company_bound": facts.company_bound,
        "isolated": facts.isolated,
        "pairs_per_second": round(len(probes.premises[few]) / seconds, 1),
    }


def _print(findings: dict[str, Any]) -> None:
    for name, version in findings["packages"].items():
        tell(f"{name}: {version or 'not installed'}")
    for provider, state in findings.get("providers", {}).items():
        tell(f"{provider}: {state}")
    for key, value in findings.get("bundle", {}).items():
        tell(f"bundle {key.replace('_', ' ')}: {value}")
