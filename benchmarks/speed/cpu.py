"""Compare this project with its alternatives on this machine's processor, in one run.

    python -m benchmarks.speed.cpu [--smoke] [--folder .bench] [--pairs 96] [--rounds 3] [--only NAME ...]

Distinct pairs with a full-size model of random weights, its bare session among them, and whole rows, Parquet to
Parquet, with the embedded model. Prints a Markdown table; writes a JSON with every round to
``benchmarks/results``, or to ``results`` below ``--folder`` in a smoke run. docs/performance.md explains the figures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorer.inference.bundle import Bundle

from . import machine, results, settings
from .prepare import prepare
from .rounds import Group, run_rounds
from .sample import Sample, write_sample
from .settings import Setting

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ("pairs", "rows")
FULL_SIZE = ("fp32", "int8")
"""Variants of the full-size model's bundle."""


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class Bench:
    """The settings and results that all groups of a run share."""

    def __init__(self, folder: Path, rounds: int, threads: int, only: Sequence[str], deadline: float) -> None:
        self.folder, self.rounds, self.threads, self.only, self.deadline = folder, rounds, threads, only, deadline
        self.groups: list[Group] = []

    def measure(
        self,
        name: str,
        title: str,
        unit: str,
        reference: str,
        asked: Sequence[Setting],
        sample: Sample,
        paths: Mapping[str, str],
        failed: Mapping[str, str] | None = None,
        rounds: int | None = None,
        floor_mb: int = 3000,
    ) -> None:
        """Run the rounds of a group. ``paths``: the paths of checkpoint, bundle and other prepared parts."""
        say(f"\n{title}")
        chosen = [s for s in asked if not self.only or s.name in self.only or s.name == reference]
        spec = {**paths, "pairs": sample.pairs_file, "rows": sample.rows_file, "threads": self.threads}
        measured = run_rounds(
            chosen,
            lambda s: {**spec, "runner": s.runner, "options": s.options},
            rounds or self.rounds,
            logs=self.folder / "logs" / name,
            environment_of=lambda s: self.environment(),
            memory_floor_mb=floor_mb,
            failed=failed,
            deadline=self.deadline,
            say=say,
        )
        items = sample.rows if unit == "rows" else sample.pairs
        counted = {key: value for key, value in vars(sample).items() if not key.endswith("_file")}
        self.groups.append(Group(name, title, unit, items, reference, counted, measured))

    def environment(self) -> dict[str, str]:
        """The environment of a setting: no network, no progress output, our threads, our own cache of device facts."""
        return os.environ | {
            "OMP_NUM_THREADS": str(self.threads),
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "XDG_CACHE_HOME": str(self.folder.resolve() / "cache"),
        }


def full_size(bench: Bench, preset: str, pairs: int) -> None:
    """Measure all settings on distinct pairs with a full-size model."""
    base = bench.folder / preset
    base.mkdir(parents=True, exist_ok=True)
    environment = bench.environment()
    failed = prepare(
        base, preset, ("checkpoint", "bundle", "onnx", "openvino"), FULL_SIZE, environment=environment, log=say
    )
    paths = {part: str(base / part) for part in ("checkpoint", "bundle", "onnx", "openvino")}
    sample = write_sample(base / f"sample-{pairs}", Bundle.load(base / "bundle"), pairs=pairs, systems=1, seed=5)
    size = (base / "checkpoint" / "model.safetensors").stat().st_size >> 20
    bench.measure(
        "pairs",
        f"{preset}, random weights: {sample.pairs} distinct pairs, {sample.tokens / sample.pairs:.0f} tokens each",
        "pairs",
        settings.REFERENCE,
        settings.cpu_pairs(),
        sample,
        paths,
        failed,
        floor_mb=1500 + 4 * size,
    )


def embedded(bench: Bench, groups: Sequence[str], *, smoke: bool, rows: int) -> None:
    """Measure whole rows with the embedded model; in a smoke run also its pairs."""
    base = bench.folder / "embedded"
    bundle = Bundle.load("embedded")
    if not (base / "checkpoint").exists():
        command = [sys.executable, "-m", "training.general.rebuild", bundle.path, base / "checkpoint"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    paths = {"checkpoint": str(base / "checkpoint"), "bundle": str(bundle.path)}
    if bundle.templates_file is not None:
        paths["templates"] = str(bundle.templates_file)
    if smoke and "pairs" in groups:
        sample = write_sample(base / "pairs", bundle, pairs=512, systems=1, seed=5)
        title = f"embedded model: {sample.pairs} distinct pairs, {sample.tokens / sample.pairs:.0f} tokens each"
        asked = settings.cpu_pairs(everyone=False)
        bench.measure("pairs", title, "pairs", settings.REFERENCE, asked, sample, paths)
    if "rows" in groups:
        sample = write_sample(base / "rows", bundle, rows=rows, systems=20, seed=6)
        title = f"embedded model: {sample.rows} whole rows, {sample.checks} checks, {sample.pairs} of them distinct"
        bench.measure("rows", title, "rows", "script", settings.cpu_rows(), sample, paths)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".bench"), help="models and samples, kept for later runs")
    parser.add_argument(
        "--results",
        type=Path,
        help="folder for the results; default: benchmarks/results, or results below --folder in a smoke run",
    )
    parser.add_argument("--name", help="name of the result files; default: cpu, or smoke in a smoke run")
    parser.add_argument("--smoke", action="store_true", help="measure only the embedded model, and fewer peers")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS, help="groups to measure")
    parser.add_argument("--preset", default="roberta-large", help="size of the model with random weights")
    parser.add_argument("--pairs", type=int, default=96, help="minimum number of distinct pairs for that model")
    parser.add_argument("--rows", type=int, help="number of whole rows for the embedded model")
    parser.add_argument("--rounds", type=int, help="number of rounds; default: 3, or 1 in a smoke run")
    parser.add_argument("--threads", type=int, default=machine.cores(), help="threads of every setting")
    parser.add_argument("--minutes", type=float, default=22.0, help="start no further round after this time")
    parser.add_argument("--only", nargs="+", default=[], help="settings to measure, by name; the reference always runs")
    args = parser.parse_args(arguments)
    args.rounds = args.rounds or (1 if args.smoke else 3)
    args.results = args.results or results_folder(args.folder, smoke=args.smoke)
    started, began = machine.now(), time.monotonic()
    args.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(args.folder, args.rounds, args.threads, args.only, began + 60 * args.minutes)
    if "pairs" in args.groups and not args.smoke:
        full_size(bench, args.preset, args.pairs)
    rows = args.rows or (200 if args.smoke else 500)
    embedded(bench, args.groups, smoke=args.smoke, rows=rows)
    report(bench, args, started, time.monotonic() - began)


def results_folder(folder: Path, *, smoke: bool) -> Path:
    """The default folder of results. Those of a smoke run are not for publication, so they stay in the work folder."""
    return folder / "results" if smoke else ROOT / "benchmarks" / "results"


def report(bench: Bench, args: argparse.Namespace, started: str, seconds: float) -> None:
    """Print the tables on stdout; write the JSON to the results folder."""
    here = machine.describe()
    groups = [results.summarise(group) for group in bench.groups]
    name = args.name or ("smoke" if args.smoke else "cpu")
    versions = results.all_versions([one for group in bench.groups for one in group.measured])
    content: dict[str, Any] = {
        "kind": "cpu",
        "started": started,
        "seconds": round(seconds),
        "machine": here | {"threads": bench.threads},
        "versions": versions,
        "rounds_asked": bench.rounds,
        "groups": groups,
    }
    results.write_json(args.results / f"{name}.json", content)
    for group in groups:
        print(results.table(group) + "\n")
    print(f"Machine: {machine.in_words(here)}.")
    print(f"{results.rounds_done(groups)}, interleaved, on {started[:10]}, {seconds / 60:.0f} minutes.")
    print("Versions: " + ", ".join(f"{package} {version}" for package, version in versions.items()) + ".")
    print(f"Every round: {args.results / f'{name}.json'}")


if __name__ == "__main__":
    main()
