"""Measure on a CUDA machine in two commands: see the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .steps import Steps, report
from .table import table

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
        self.sample = self.work / "sample"

    def prepare(self) -> None:
        """The kit and the seeded bundle, then the samples and what doctor says, two at a time."""
        module, given = self.steps.module, self.given
        with ThreadPoolExecutor(2) as pool:
            jobs = []
            if given.seeded:
                jobs.append(pool.submit(module, "seeded", 60, "write", given.seeded, self.work / "seeded"))
            if given.kit:
                install = ["bash", given.kit / "install.sh", given.kit, self.work / "site"]
                jobs.append(pool.submit(self.steps.run, "kit", 60, install))
            [job.result() for job in jobs]
            sizes = [given.pairs, given.rows] if given.pairs else []
            jobs = [pool.submit(module, "samples", 60, self.bundle, self.work, *sizes)]
            jobs.append(pool.submit(self.doctor))
            [job.result() for job in jobs]

    def doctor(self) -> None:
        """What `scorer doctor` finds; it verifies the bundle in a cache of its own."""
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            command = f'"{sys.executable}" -m scorer doctor --bundle "{self.bundle}" --json > "{file.name}"'
            cache = {"XDG_CACHE_HOME": str(self.work / "cache-of-doctor")}
            if self.steps.run("doctor", 70, ["bash", "-c", command], **cache):
                found = json.load(file)
                report("doctor", **{key: found[key] for key in ("problems", "gpus", "packages")}, **found["bundle"])

    def score(self, name: str, rows: Path, seconds: float) -> None:
        """`scorer run` as a command, and what it says of itself."""
        out = self.work / f"out-{name.replace(' ', '-')}"
        command = [sys.executable, "-m", "scorer", "run", rows, "--out", out, "--bundle", self.bundle]
        script = " ".join(f'"{word}"' for word in [*map(str, command), "--device", self.given.device])
        if self.steps.run(name, seconds, ["bash", "-c", f"{script} >&2"]):
            run = json.loads((out / "_run.json").read_text())
            kept = {key: value for key, value in (run.get("speed") or {}).items() if key != "shapes"}
            report("run", of=name, speed=kept, seconds=run.get("seconds"), checks=run.get("checks"))

    def first(self) -> None:
        """What decides: the device, the bare session, a command's first and second use, many rows."""
        module, device = self.steps.module, self.given.device
        self.prepare()
        module("arithmetic", 30, device)
        module("variants", 100, self.bundle, self.sample, 60)
        rows = self.sample / "rows"
        self.score("first use", rows, 60)
        self.score("second use", rows, 45)
        module("stamps", 45, rows, self.work / "out-stamps", self.bundle, device)
        self.score("many", self.work / "many", 110)

    def second(self) -> None:
        """Peers on the same pairs, labels of half precision, and the two fastest variants once more."""
        module, device = self.steps.module, self.given.device
        if not (self.sample / "pairs.json").exists():
            self.prepare()
        module("peer", 100, self.checkpoint, self.sample, device, 75, **self.peers)
        if self.given.labels:
            module("labels", 70, self.given.labels, self.sample, device)
        module("variants", 60, self.bundle, self.sample, 40, "again")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.gpu",
        description=sys.modules[__package__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=("first", "second", "table"))
    parser.add_argument("--bundle", type=Path, help="bundle with fp16 in packed form")
    parser.add_argument("--checkpoint", type=Path, help="the checkpoint that it was exported from, for peers")
    parser.add_argument("--seeded", type=Path, help="folder of .seeded, in place of bundle and checkpoint")
    parser.add_argument("--labels", type=Path, help="bundle with real weights in fp32 and fp16")
    parser.add_argument("--kit", type=Path, help="folder whose install.sh unpacks the runtime")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path(".bench/gpu"), help="gets results.jsonl and log.txt")
    parser.add_argument("--work", type=Path, default=Path(".bench/gpu-work"), help="kept between the two commands")
    parser.add_argument("--seconds", type=float, default=560, help="limit for all steps of a command")
    parser.add_argument("--pairs", type=int, help="fewer pairs, to try the script")
    parser.add_argument("--rows", type=int, default=200, help="with --pairs: rows of the step many")
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
