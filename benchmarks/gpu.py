"""The same on a CUDA machine: `make bench-gpu`. Written without one: no GPU figure exists until it has run there.

    python -m benchmarks.gpu --kit SITE_DIR [--folder .bench] [--pairs 4096] [--rounds 3]
    python -m benchmarks.gpu --device cpu --preset roberta-tiny --pairs 64      # does the script work?

Needs no network. ``--kit`` is the folder into which ONNX Runtime for CUDA and the exporter's libraries were installed:
export and our engine run with it on PYTHONPATH, the peers in processes without it, on the machine's own PyTorch,
transformers and sentence-transformers. In order: checkpoint and bundle, the device's matrix rate, the rounds, the
attention kernels that the runtime really took, and the short table last.

Utilisation counts real tokens only. Work that our graph or batching saves still counts as useful, padding never does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import machine, picture, results
from .prepare import prepare
from .rounds import Group, Worker, WorkerError, run_rounds
from .settings import REFERENCE, Setting

ROOT = Path(__file__).resolve().parents[1]
_KERNEL_SIGNS = ("sdpakernel", "attention_kernel", "attention kernel", "cudnn_flash", "operator=")


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def flops(architecture: Mapping[str, Any], tokens: Sequence[int]) -> float:
    """Arithmetic of pairs with these lengths: for roberta-large 604 MFLOP + 98.3 kFLOP · s a token."""
    layers, h, i = (int(architecture[key]) for key in ("layers", "hidden_size", "intermediate_size"))
    dense, attention = 2 * layers * (4 * h * h + 2 * h * i), 4 * layers * h
    return float(sum(s * (dense + attention * s) for s in tokens))


def gpu_settings(precisions: Sequence[str], half: str, budgets: Sequence[int], batches: Sequence[int]) -> list[Setting]:
    """Peers in their best half precision and as documented; ours at several settings."""
    best = {"dtype": half, "batches": list(batches), "try": 512}
    made = [
        Setting(REFERENCE, "PyTorch fp32, batches by length", "pytorch:batches", {"batches": list(batches[:2])}),
        Setting("torch-half", f"PyTorch {half}, SDPA, batches by length", "pytorch:batches", best),
        Setting("pipeline", "transformers pipeline, as documented (batch 1)", "pipeline:classify"),
        Setting(
            "pipeline-best", f"transformers pipeline, best ({half}, by length)", "pipeline:classify",
            {**best, "sorted": True},
        ),
        Setting("ce-docs", "CrossEncoder, as documented (fp32, batch 32)", "cross_encoder:predict", {"batches": [32]}),
        Setting("ce-half", f"CrossEncoder {half}, SDPA, best batch", "cross_encoder:predict", best),
        Setting(
            "ce-bf16", "CrossEncoder bfloat16, SDPA, best batch", "cross_encoder:predict", {**best, "dtype": "bfloat16"}
        ),
    ]  # fmt: skip
    for precision in precisions:
        for budget in budgets:
            options = {"precision": precision, "token_budget": budget}
            name, words = f"{precision}-{budget}", f"{precision}, {budget:,} tokens a batch"
            made += [
                Setting(f"bare-{name}", f"bare session {words}", "ours:bare_session", options, ("bundle",), bare=True),
                Setting(f"run-{name}", f"d2t-scorer {words}", "ours:score_run", options, ("bundle",), True),
            ]
    return made


def environments(kit: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    """Environments of our processes and of the peers': the same, but for the kit on PYTHONPATH."""
    base = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "TRANSFORMERS_VERBOSITY": "error"}
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if kit is not None:
        others = [p for p in others if Path(p).resolve() != kit.resolve()]
    peers = [str(ROOT), *others]
    ours = [*([str(kit.resolve())] if kit is not None else []), *peers]
    return base | {"PYTHONPATH": os.pathsep.join(ours)}, base | {"PYTHONPATH": os.pathsep.join(peers)}


def matrix_rate(device: str, environment: Mapping[str, str], logs: Path) -> tuple[float, dict[str, Any]]:
    """FLOP/s that the device reaches in half precision (a CPU, for a trial, in fp32), and what it is."""
    on_gpu = device.startswith("cuda")
    options = (
        {"dtype": "float16", "sizes": [4096, 8192, 16384], "repeat": 20}
        if on_gpu
        else {"dtype": "float32", "sizes": [512], "repeat": 3}
    )
    spec = {"runner": "matrix:rate", "device": device, "options": options}
    worker = Worker(spec, environment, logs / "matrix.log", sys.executable, 300)
    try:
        worker.ask("pass")
        return float(worker.ask("answers")["answers"][0]), {**worker.opened["chosen"], **options}
    finally:
        worker.close()


def kernels(spec: Mapping[str, Any], environment: Mapping[str, str], logs: Path) -> list[str]:
    """The attention kernels that the runtime says it took, each line once."""
    log = logs / "kernels.log"
    log.unlink(missing_ok=True)
    try:
        worker = Worker(spec, {**environment, "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO": "1"}, log, sys.executable, 300)
        worker.ask("pass")
        worker.close()
    except WorkerError as e:
        return [f"not found out: {e}"]
    lines = log.read_text(errors="replace").splitlines()
    found = [line.strip()[:160] for line in lines if any(sign in line.lower() for sign in _KERNEL_SIGNS)]
    return list(dict.fromkeys(found))[:20] or ["the runtime said nothing"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", type=Path, help="folder with ONNX Runtime for CUDA and the exporter's libraries")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--folder", type=Path, default=Path(".bench"))
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--preset", default="roberta-large")
    parser.add_argument("--pairs", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budgets", type=int, nargs="+", default=[16384, 65536, 131072])
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--minutes", type=float, default=8.0, help="begin no further round after this long")
    args = parser.parse_args(arguments)
    started, began = machine.now(), time.monotonic()
    on_gpu = args.device.startswith("cuda")
    ours, peers = environments(args.kit)
    base = args.folder / f"{args.preset}-{args.device.split(':')[0]}"
    logs = base / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    ours["XDG_CACHE_HOME"] = str((base / "cache").resolve())
    with _SourceTree(base) as shim:
        ours["PYTHONPATH"] += os.pathsep + shim
        precisions = ("fp32", "fp16") if on_gpu else ("fp32",)
        prepare(base, args.preset, ("checkpoint", "bundle"), precisions, environment=ours, log=say)
        rate, device = matrix_rate(args.device, peers, logs)
        say(f"{device.get('device', args.device)}: {rate / 1e12:.2f} TFLOP/s on {device['dtype']} matrices")
        groups = _measure(args, base, logs, ours, peers, began)
        taken = _kernels(args, base, logs, ours) if on_gpu else []
    _report(args, groups, rate, device, taken, started, time.monotonic() - began)


class _SourceTree:
    """Says to ``importlib.metadata`` which version the source tree is, where the package is not installed."""

    def __init__(self, base: Path) -> None:
        self._folder = base / "source-tree"

    def __enter__(self) -> str:
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        info = self._folder / f"d2t_scorer-{project['version']}.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: d2t-scorer\nVersion: {project['version']}\n")
        return str(self._folder.resolve())

    def __exit__(self, *error: object) -> None:
        pass  # it is small and may stay


def _measure(
    args: argparse.Namespace, base: Path, logs: Path, ours: Mapping[str, str], peers: Mapping[str, str], began: float
) -> list[tuple[Group, Sequence[int]]]:
    """Both samples: E2E-like, and a mix of lengths up to the longest."""
    if args.kit is not None:
        sys.path.insert(0, str(args.kit.resolve()))
    from scorer.inference.bundle import Bundle

    from .sample import write_sample

    bundle = Bundle.load(base / "bundle")
    half = "float16" if args.device.startswith("cuda") else "float32"
    precision = "fp16" if args.device.startswith("cuda") else "fp32"
    asked = gpu_settings((precision,), half, args.budgets, args.batches)
    groups = []
    for name, words, mixed in (("e2e", "E2E-like", False), ("mixed", "mixed lengths", True)):
        sample = write_sample(base / name, bundle, pairs=args.pairs, systems=1, seed=5, mixed=mixed)
        spec = {
            "checkpoint": str(base / "checkpoint"), "bundle": str(base / "bundle"), "pairs": sample.pairs_file,
            "rows": sample.rows_file, "device": args.device,
        }  # fmt: skip
        measured = run_rounds(
            asked,
            # mypy cannot tell the type of a parameter whose default binds the loop's variable.
            lambda s, spec=spec: {**spec, "runner": s.runner, "options": s.options},  # type: ignore[misc]
            args.rounds,
            logs=logs / name,
            environment_of=lambda s: ours if s.ours or s.bare else peers,
            memory_floor_mb=8000,
            deadline=began + 60 * args.minutes,
            say=say,
        )
        counted = {key: value for key, value in vars(sample).items() if not key.endswith("_file")}
        title = (
            f"{args.preset}, random weights, {words}: {sample.pairs:,} pairs, {sample.tokens / sample.pairs:.0f} tokens"
        )
        group = Group(name, title, "pairs", sample.pairs, REFERENCE, counted, measured)
        groups.append((group, json.loads(Path(sample.pairs_file).read_text())["tokens"]))
    return groups


def _kernels(args: argparse.Namespace, base: Path, logs: Path, ours: Mapping[str, str]) -> list[str]:
    spec = {
        "checkpoint": str(base / "checkpoint"), "bundle": str(base / "bundle"), "device": args.device,
        "pairs": str(base / "mixed" / "pairs.json"), "rows": str(base / "mixed" / "rows" / "rows.parquet"),
        "runner": "ours:bare_session", "options": {"precision": "fp16", "token_budget": args.budgets[0]},
    }  # fmt: skip
    return kernels(spec, ours, logs)


def _report(
    args: argparse.Namespace,
    measured: Sequence[tuple[Group, Sequence[int]]],
    rate: float,
    device: Mapping[str, Any],
    taken: Sequence[str],
    started: str,
    seconds: float,
) -> None:
    folder = args.folder / f"{args.preset}-{args.device.split(':')[0]}"
    architecture = json.loads((folder / "bundle" / "bundle.json").read_text())["architecture"]
    groups = []
    for group, tokens in measured:
        summary = results.summarise(group)
        work = flops(architecture, tokens)
        for setting in summary["settings"]:
            if "median" in setting:
                setting["utilisation"] = round(work * setting["median"] / group.items / rate, 4)
        groups.append(summary)
    name = "gpu" if args.device.startswith("cuda") else "gpu-trial-on-cpu"
    versions = results.all_versions([one for group, _ in measured for one in group.measured])
    content = {
        "kind": "gpu", "trial": not args.device.startswith("cuda"), "started": started, "seconds": round(seconds),
        "machine": machine.describe(), "device": dict(device), "matrix_flops": rate, "kernels": list(taken),
        "versions": versions, "rounds_asked": args.rounds, "groups": groups,
    }  # fmt: skip
    results.write_json(args.results / f"{name}.json", content)
    where = device.get("device", "a trial on the CPU: no GPU figure")
    (args.results / f"{name}.svg").write_text(
        picture.draw(groups, f"{where}; {started[:10]}; {results.rounds_done(groups)}")
    )
    for line in taken:
        print(f"kernel: {line}")
    print(f"Device: {where}; {rate / 1e12:.2f} TFLOP/s measured on {device['dtype']} matrices.\n")
    for group in groups:
        print(results.table(group) + "\n")
    print("Versions: " + ", ".join(f"{package} {version}" for package, version in versions.items()) + ".")


if __name__ == "__main__":
    main()
