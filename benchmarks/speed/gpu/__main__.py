"""Measure on a CUDA machine in two commands: see the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .steps import Steps, read_results, report

ROOT = Path(__file__).resolve().parents[3]


class Measurement:
    """Where things are, and the steps. ``work`` is kept between the two commands."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.work = given, given.work
        self.work.mkdir(parents=True, exist_ok=True)
        self.peers = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        site = [str(self.work / "site")] if given.kit else []
        ours = {
            "PYTHONPATH": os.pathsep.join([*site, self.peers["PYTHONPATH"]]),
            "XDG_CACHE_HOME": str(self.work / "cache"),
            "CUDA_MODULE_LOADING": "LAZY",
            "HF_HUB_OFFLINE": "1",
        }
        self.steps = Steps(given.out, given.seconds, ours)
        seeded = self.work / "seeded"
        self.bundle = seeded / "bundle" if given.seeded else given.bundle
        self.checkpoint = seeded / "checkpoint" if given.seeded else given.checkpoint
        self.sample, self.many = self.work / "sample", self.work / "many"
        self.verified = {"XDG_CACHE_HOME": str(self.work / "cache-of-doctor")}
        """Variables of steps before the first use, with a cache of their own."""

    def run_module(self, name: str, seconds: float, module: str, *arguments: object, **environment: str) -> None:
        command = [sys.executable, "-m", f"benchmarks.speed.gpu.{module}", *arguments]
        self.steps.run(name, seconds, command, **environment)

    def measure(self, name: str, seconds: float, *arguments: object, **environment: str) -> None:
        self.run_module(name, seconds, "measures", name, *arguments, **environment)

    def prepare(self) -> None:
        """The kit and the seeded bundle, then the samples, and what doctor says."""
        given = self.given
        if given.seeded:
            self.run_module("seeded", 60, "seeded", "write", given.seeded, self.work / "seeded")
        if given.kit:
            self.steps.run("kit", 60, ["bash", given.kit / "install.sh", given.kit, self.work / "site"])
        sizes = [given.pairs, given.rows] if given.pairs else []
        self.measure("samples", 60, self.bundle, self.work, *sizes)
        self.doctor()

    def doctor(self) -> None:
        def tell(printed: str) -> None:
            found = json.loads(printed)
            report("doctor", **{key: found[key] for key in ("problems", "gpus", "packages", "bundle")})

        command = [sys.executable, "-m", "scorer", "doctor", "--bundle", self.bundle, "--json"]
        self.steps.run("doctor", 70, command, tell, **self.verified)

    def score(self, name: str, rows: Path, seconds: float) -> None:
        out = self.work / f"out-{name.replace(' ', '-')}"

        def tell(printed: str) -> None:
            run = json.loads((out / "_run.json").read_text())
            kept = {key: value for key, value in (run.get("speed") or {}).items() if key != "shapes"}
            report("run", of=name, speed=kept, seconds=run.get("seconds"), checks=run.get("checks"))

        command = [sys.executable, "-m", "scorer", "run", rows, "--out", out, "--bundle", self.bundle]
        self.steps.run(name, seconds, [*command, "--device", self.given.device], tell)

    def first(self) -> None:
        device, rows = self.given.device, self.sample / "rows"
        self.prepare()
        self.measure("matrix", 30, device)
        self.measure("variants", 110, self.bundle, self.sample, device, 75, **self.verified)
        self.score("first use", rows, 60)
        self.score("second use", rows, 45)
        self.run_module("stages", 45, "stages", rows, self.work / "out-stages", self.bundle, device)
        self.score("many", self.many, 110)

    def second(self) -> None:
        if not (self.sample / "pairs.json").exists():
            self.prepare()
        device = self.given.device
        self.measure("peer", 100, self.checkpoint, self.sample, device, 75, **self.peers)
        if self.given.labels:
            self.measure("labels", 70, self.given.labels, self.sample, device)


def table(path: Path) -> str:
    """Rows for docs/speed.md and docs/figures.md, with the card, from a file of results."""
    found = read_results(path)
    matrix = next((one for one in found if one["step"] == "matrix"), {})
    sustained = matrix.get("sustained", 0) / 1e12
    card = f"{matrix.get('device', 'no device')}: {sustained:.0f} TFLOP/s sustained ({matrix.get('smi', '')})"
    lines = [card, "", "| | pairs/s | of the matrix rate |", "|---|---|---|"]
    for one in found:
        share = f"{one['tflops'] / sustained:.1%}" if "tflops" in one and sustained else ""
        rate = f"{one['pairs_per_s']:,}" if "pairs_per_s" in one else one.get("error")
        if one["step"] == "variant" and "graph" in one:
            options = "".join(f", {name} {value}" for name, value in one["options"].items())
            lines.append(f"| bare {one['graph']}{options}, {one['tokens']:,} tokens a call | {rate} | {share} |")
        elif one["step"] == "peer":
            lines.append(f"| CrossEncoder {one['dtype']}, batch {one.get('batch')} | {rate} | |")
        elif one["step"] == "run":
            unique, stages = one["checks"]["unique"], one["seconds"]
            of = f"{one['of']}: {unique:,} pairs, {stages.get('total')} s, of them infer {stages.get('infer')} s"
            lines.append(f"| {of} | {one['speed'].get('unique_pairs_per_s', 0):,.0f} | |")
        elif one["step"] == "labels" and "same" in one:
            lines.append(f"| labels of {one['kind']} as fp32 | {one['same']:,} of {one['of']:,} | |")
    ends = (one for one in found if one["step"] == "end" and one["of"] in ("first use", "second use", "many"))
    lines += ["", *(f"{one['of']}: {one['seconds']} s as a command, exit code {one['code']}" for one in ends)]
    stages = (one for one in found if one["step"] == "stage")
    lines += ["", *(f"{one['of']}: {one['seconds']} s until {one['at']} s" for one in stages)]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.gpu",
        description=sys.modules[__package__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("part", choices=("first", "second", "table"))
    add("--bundle", type=Path, help="bundle with fp16 in packed form")
    add("--checkpoint", type=Path, help="the checkpoint that it was exported from, for peers")
    add("--seeded", type=Path, help="folder of .seeded, in place of bundle and checkpoint")
    add("--labels", type=Path, help="bundle with real weights in fp32 and fp16")
    add("--kit", type=Path, help="folder whose install.sh unpacks the runtime")
    add("--device", default="cuda")
    add("--out", type=Path, default=Path(".bench/gpu"), help="gets results.jsonl and log.txt")
    add("--work", type=Path, default=Path(".bench/gpu-work"), help="kept between the two commands")
    add("--seconds", type=float, default=560, help="limit for all steps of a command")
    add("--pairs", type=int, help="fewer pairs, to try the script")
    add("--rows", type=int, default=200, help="with --pairs: rows of the step many")
    given = parser.parse_args(arguments)
    if given.part == "table":
        print(table(given.out / "results.jsonl"))
        return
    if not given.seeded and not (given.bundle and given.checkpoint):
        parser.error("give --seeded, or --bundle and --checkpoint")
    measurement = Measurement(given)
    getattr(measurement, given.part)()


if __name__ == "__main__":
    main()
