"""The groups of settings and questions of a run, and the file that they go into."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.speed import machine, results
from benchmarks.speed.prepare import prepare
from benchmarks.speed.rounds import Group, Measured, WorkerError, ask_once, run_rounds
from benchmarks.speed.settings import REFERENCE, Setting

from . import settings
from .device import flops, free_gib, matrix_rates, seen_in_words, watch
from .questions import CHECKS, Asked

if TYPE_CHECKING:
    from benchmarks.speed.sample import Sample

ROOT = Path(__file__).resolve().parents[3]
GROUPS = ("sessions", "large", "runs", "choices", "labels", "e2e")
"""What matters most is first, because the time may end the rest."""
_ROOM_GIB = 40.0
"""Free memory of the device below which a measured setting is closed: the next one may take so much."""
STEPS = ("prepare", "measure")


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class Bench:
    """What all groups of a run share, and the groups."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.began = time.monotonic()
        self.started = machine.now()
        self.on_gpu = args.device.startswith("cuda")
        self.half, self.precision = ("float16", "fp16") if self.on_gpu else ("float32", "fp32")
        self.ours, self.peers = environments(args.kit)
        self.base = args.folder / f"{args.preset}-{args.device.split(':')[0]}"
        self.logs = self.base / "logs"
        # Real weights, with the templates that they were trained with.
        self.embedded = self.base / "embedded"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.ours["XDG_CACHE_HOME"] = str((self.base / "cache").resolve())
        self.ours["PYTHONPATH"] += os.pathsep + source_tree(self.base)
        self.groups: list[tuple[Group, Sequence[int]]] = []
        self.seen: dict[str, Any] = {}
        self.checked: dict[str, Any] = {}
        name = args.name or ("gpu" if self.on_gpu else "gpu-trial-on-cpu")
        self.results = args.results / f"{name}.json"
        self.earlier = _read(self.results)

    def prepare(self) -> None:
        """Checkpoint, bundles, and what the program finds out at first use: none of it is timed."""
        precisions = ("fp32", "fp16") if self.on_gpu else ("fp32",)
        prepare(self.base, self.args.preset, ("checkpoint", "bundle"), precisions, environment=self.ours, log=say)
        if self._weights():
            prepare(self.embedded, "embedded", ("bundle",), precisions, environment=self.ours, log=say)
        for folder in (self.base, self.embedded):
            if (folder / "bundle").exists():
                for precision in precisions:
                    self._settle(folder / "bundle", precision)

    def _weights(self) -> bool:
        """The checkpoint of the embedded model, rebuilt from its bundle."""
        checkpoint = self.embedded / "checkpoint"
        checkpoint.parent.mkdir(exist_ok=True)
        if checkpoint.exists():
            return True
        command = [sys.executable, "-m", "training.general.rebuild", "scorer/embedded/general"]
        done = subprocess.run(
            [*command, str(checkpoint.resolve())], cwd=ROOT, env=self.ours, capture_output=True, text=True
        )
        if done.returncode:
            say(f"embedded: its checkpoint could not be rebuilt: {' '.join(done.stderr.split())[-200:]}")
        return not done.returncode

    def _settle(self, bundle: Path, precision: str) -> None:
        spec = {
            "runner": "ours:settled", "bundle": str(bundle), "device": self.args.device,
            "options": {"precision": precision, **({"token_budget": self.args.budget} if self.args.budget else {})},
        }  # fmt: skip
        name = f"{bundle.parent.name} {precision}"
        try:
            layout, attention = ask_once(spec, self.ours, self.logs / "settle.log", 1800)
        except WorkerError as e:
            say(f"{name}: does not run: {e}")
        else:
            say(f"{name}: runs {layout} with {attention}; {self._elapsed()}")

    def measure(self) -> None:
        """The groups, one after the other, until the time is over."""
        if not (self.base / "bundle" / "bundle.json").is_file():
            raise SystemExit(f"nothing is prepared in {self.base}: run --step prepare first")
        self.began = time.monotonic()
        self.deadline = self.began + 60 * self.args.minutes
        self.rate, self.device = matrix_rates(self.args.device, self.peers, self.logs)
        say(f"{self.device.get('device', self.args.device)}: {self._rate_in_words()}; {self._elapsed()}")
        if self.args.kit is not None:
            sys.path.insert(0, str(self.args.kit.resolve()))
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for group in self.args.groups:
                if time.monotonic() > self.deadline:
                    say(f"out of time before the group {group}: --groups {group} measures it")
                    continue
                if group in CHECKS:
                    self._check(group)
                else:
                    getattr(self, group)()
                    print(results.table(self._summaries()[-1]) + "\n", flush=True)
        except KeyboardInterrupt:
            say("stopped; what was measured is kept")
        finally:
            signal.signal(signal.SIGTERM, before)
            self.write()
            self._end()

    def _check(self, name: str) -> None:
        """Ask one of the questions, and print the answers as they come."""

        print(f"**{name}** ({self._elapsed()})", flush=True)
        asked = Asked(
            device=self.args.device, precision=self.precision, bundle=self.base / "bundle",
            sample=lambda: self._sample("large", self.base / "bundle", 8 * self.args.pairs),
            environment=self.ours, logs=self.logs, say=lambda line: print(line, flush=True),
        )  # fmt: skip
        self.checked[name] = {"measured": machine.now(), **CHECKS[name](asked)}
        self.write()
        print(flush=True)

    def e2e(self) -> None:
        """All settings on E2E-like pairs."""
        every = settings.peers(self.half, self.args.batches, self.args.pairs // 32)
        peers = [one for one in every if one.name in (REFERENCE, *self.args.peers)]
        ours = settings.ours(self.precision, self.args.budget)
        self._measure("e2e", "E2E-like", [*ours, *peers], self.args.pairs)

    def large(self) -> None:
        """The program on many rows, and what the device does meanwhile."""
        ours = settings.ours(self.precision, self.args.budget)
        spec = self._measure("large", "E2E-like, many", ours, 8 * self.args.pairs, reference=ours[0].name)
        options = {**ours[1].options, "warm": False, "of": "ours:score_run"}
        self.seen = watch({**spec, "runner": "device:watched", "options": options}, self.ours, self.logs / "watch.log")

    def choices(self) -> None:
        """The form of a call, and its size."""
        asked = settings.choices(self.precision, self.args.budgets)
        self._measure("choices", "what could be chosen", asked, self.args.pairs, reference=settings.AS_IT_IS)

    def labels(self) -> None:
        """The embedded model, whose weights are real: labels of half precision against those of fp32."""
        asked = settings.labels(self.precision, self.args.budget)
        self._measure("labels", "", asked, self.args.pairs, reference="engine-fp32", bundle=self.embedded / "bundle")

    def _measure(
        self, name: str, words: str, asked: Sequence[Setting], pairs: int, *, reference: str = REFERENCE,
        bundle: Path | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Run a group's rounds on its own sample, and return the options that every setting got."""
        from scorer.inference.choices import BUILTIN_BUNDLES

        worded = BUILTIN_BUNDLES["embedded"].folder if bundle else self.base / "bundle"
        sample = self._sample(name, worded, pairs)
        spec = {
            "checkpoint": str(self.base / "checkpoint"), "bundle": str(bundle or self.base / "bundle"),
            "pairs": sample.pairs_file, "rows": sample.rows_file, "device": self.args.device,
        }  # fmt: skip
        model = "embedded model" if bundle else f"{self.args.preset}, random weights, {words}"
        title = f"{model}: {sample.pairs:,} pairs, {sample.tokens / sample.pairs:.0f} tokens"
        say(f"\n{title} ({self._elapsed()})")
        counted = {key: value for key, value in vars(sample).items() if not key.endswith("_file")}
        measured: list[Measured] = []
        group = Group(name, title, "pairs", sample.pairs, reference, counted, measured)
        self.groups.append((group, json.loads(Path(sample.pairs_file).read_text())["tokens"]))

        def after(so_far: list[Measured]) -> None:
            measured[:] = so_far
            self.write()

        run_rounds(
            asked,
            lambda s: {**spec, "runner": s.runner, "options": s.options},
            self.args.rounds,
            logs=self.logs / name,
            environment_of=lambda s: self.ours if "bundle" in s.needs else self.peers,
            memory_floor_mb=8000,
            device_has_room=lambda: not self.on_gpu or free_gib(self.args.device) > _ROOM_GIB,
            deadline=self.deadline,
            say=say,
            after=after,
        )
        return spec

    def _sample(self, name: str, worded: Path, pairs: int) -> Sample:
        """The sample of a group, made once for all calls of this script. ``worded``: the bundle whose templates and
        tokenizer it has."""
        from benchmarks.speed.sample import Sample, write_sample
        from scorer.inference.bundle import Bundle

        folder = self.base / f"{name}-{pairs}"
        kept = _read(folder / "sample.json")
        if kept:
            return Sample(**kept)
        return write_sample(folder, Bundle.load(worded), pairs=pairs, systems=1, seed=5)

    def _summaries(self) -> list[dict[str, Any]]:
        """Each group in the form of the JSON, with the utilisation."""
        architecture = json.loads((self.base / "bundle" / "bundle.json").read_text())["architecture"]
        found = []
        for group, tokens in self.groups:
            summary = {**results.summarise(group), "measured": self.started}
            work = flops(architecture, tokens)
            for setting, one in zip(summary["settings"], group.measured, strict=True):
                if "median" in setting and one.part is None and group.name != "labels":
                    setting["utilisation"] = round(work * setting["median"] / group.items / self.rate["sustained"], 4)
            found.append(summary)
        return found

    def write(self) -> None:
        """JSON and SVG of what was measured so far."""
        groups = self._summaries()
        measured = {group["name"] for group in groups}
        groups = [one for one in self.earlier.get("groups", []) if one["name"] not in measured] + groups
        content = {
            "kind": "gpu", "trial": not self.on_gpu, "started": self.started,
            "seconds": round(time.monotonic() - self.began), "machine": machine.describe(), "device": self.device,
            "matrix_flops": self.rate, "watched": self.seen or self.earlier.get("watched", {}),
            "versions": self.earlier.get("versions", {}) | self._versions(), "rounds_asked": self.args.rounds,
            "checks": self.earlier.get("checks", {}) | self.checked, "groups": groups,
        }  # fmt: skip
        results.write_json(self.results, content)

    def _end(self) -> None:
        """What was seen of the device, versions, and the time, to stdout."""
        if self.seen:
            print("\n".join(seen_in_words(self.seen)) + "\n")
        print("Versions: " + ", ".join(f"{package} {version}" for package, version in self._versions().items()) + ".")
        print(f"Device: {self._where()}; {self._rate_in_words()}. {self._elapsed()} in all.", flush=True)

    def _versions(self) -> dict[str, str]:
        return results.all_versions([one for group, _ in self.groups for one in group.measured])

    def _where(self) -> str:
        return str(self.device.get("device", "a trial on the CPU: no GPU figure"))

    def _rate_in_words(self) -> str:
        sustained, burst = (self.rate[which] / 1e12 for which in ("sustained", "burst"))
        return f"{sustained:.2f} TFLOP/s sustained on {self.device['dtype']} matrices, {burst:.2f} in a burst"

    def _elapsed(self) -> str:
        seconds = round(time.monotonic() - self.began)
        return f"{seconds // 60}:{seconds % 60:02d} minutes"


def _read(path: Path) -> dict[str, Any]:
    """A JSON file; empty where there is none."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def environments(kit: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    """Environments of our processes and of the peers': the same, but for the kit on PYTHONPATH."""
    base = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "TRANSFORMERS_VERBOSITY": "error"}
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if kit is not None:
        others = [p for p in others if Path(p).resolve() != kit.resolve()]
    peers = [str(ROOT), *others]
    ours = [*([str(kit.resolve())] if kit is not None else []), *peers]
    return base | {"PYTHONPATH": os.pathsep.join(ours)}, base | {"PYTHONPATH": os.pathsep.join(peers)}


def source_tree(base: Path) -> str:
    """A folder for PYTHONPATH that says to ``importlib.metadata`` which version the source tree is, where the package
    is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = base / "source-tree"
    info = folder / f"d2t_scorer-{project['version']}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: d2t-scorer\nVersion: {project['version']}\n")
    return str(folder.resolve())
