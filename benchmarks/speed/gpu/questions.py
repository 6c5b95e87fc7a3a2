"""Questions to a GPU that are not rates of settings: each prints its answers, line by line, and returns them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.speed.device_trace import ATTENTION_LOG, said_of_attention
from benchmarks.speed.rounds import WorkerError, ask_once

_SESSION_S, _RUN_S = 180.0, 600.0


@dataclass(frozen=True)
class Asked:
    """What all questions share.

    ``bundle``: random weights, full size. ``sample``: makes the sample of many rows.
    ``environment``: of our processes. ``say``: told each answer in words.
    """

    device: str
    precision: str
    bundle: Path
    sample: Callable[[], Any]
    environment: Mapping[str, str]
    logs: Path
    say: Callable[[str], None]

    def ask(self, runner: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """A runner's answer, or ``{"error": why there is none}``. It runs in a process of its own, so that what crashes
        or hangs costs that form alone."""
        spec = {"runner": runner, "device": self.device, "bundle": str(self.bundle), "options": dict(options)}
        log = self.logs / f"{runner.replace(':', '.')}.log"
        try:
            found: dict[str, Any] = ask_once(spec, {**self.environment, ATTENTION_LOG: "1"}, log, _SESSION_S)
        except WorkerError as e:
            return {"error": str(e)}
        return found

    def forms(self) -> dict[str, dict[str, Any]]:
        """The forms of the graph in the precision that is measured, and fp32, in words and as options of a runner."""
        variants = json.loads((self.bundle / "bundle.json").read_text())["variants"]
        layouts = [one.get("layout", "padded") for one in variants.values() if one["precision"] == self.precision]
        found = {layout: {"precision": self.precision, "layout": layout} for layout in layouts}
        return found | {"fp32": {"precision": "fp32", "layout": "padded"}}


def sessions(asked: Asked) -> dict[str, Any]:
    """Versions; where the nodes run, copies between devices, and which attention kernel the runtime says it takes."""
    found: dict[str, Any] = {"versions": asked.ask("session:about", {})}
    asked.say("; ".join(f"{name} {value}" for name, value in found["versions"].items()))
    for words, options in asked.forms().items():
        found[words] = one = asked.ask("session:opened", options)
        if "error" in one:
            asked.say(f"{words}: {one['error']}")
            continue
        elsewhere = {place: ops for place, ops in one["ran"].items() if place != one["providers"][0]}
        nodes = sum(sum(ops.values()) for ops in one["ran"].values())
        asked.say(
            f"{words}: {nodes} nodes ran, {one['memcpy']} of the graph copy between devices; elsewhere than "
            f"{one['providers'][0]}: {_listed(elsewhere) or 'none'}; opened in {one['load_seconds']:.1f} s, first call "
            f"{one['first_call_seconds']:.2f} s, second {1000 * one['second_call_seconds']:.1f} ms"
        )
        asked.say(f"  {', '.join(f'{op} {n}' for op, n in list(one['graph'].items())[:12])}")
        for line in dict.fromkeys([*one["log"][:5], *said_of_attention(one["log"])[:3]]):
            asked.say(f"  the runtime says: {line}")
    return found


def runs(asked: Asked) -> dict[str, Any]:
    """The command line on many rows, as a user starts it: first use, again, and as two processes on one device, each
    with half of the rows. ``seconds`` of the command, and what each ``_run.json`` says of its ``speed``."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        halves = _halved(Path(asked.sample().rows_file), folder)
        fresh = replace(asked, environment={**asked.environment, "XDG_CACHE_HOME": str(folder / "cache")})
        for words, inputs in {
            "first use": [halves], "again": [halves], "two at once": [[half] for half in halves]
        }.items():  # fmt: skip
            outs = [folder / f"{words}-{i}" for i in range(len(inputs))]
            found[words] = one = _run(fresh, [[*map(str, paths)] for paths in inputs], outs)
            if "error" in one:
                asked.say(f"{words}: {one['error']}")
                return found
            rate, tokens = (
                sum(speed[key] for speed in one["speed"]) for key in ("unique_pairs_per_s", "real_tokens_per_s")
            )
            used = [f"{speed['utilisation']:.1%}" for speed in one["speed"] if speed["utilisation"]]
            asked.say(
                f"{words}: {one['seconds']:.1f} s in all; {rate:,.0f} distinct pairs/s and {tokens:,.0f} real "
                f"tokens/s once started; utilisation by its own account {', '.join(used) or 'unknown'}"
            )
    found["cost_of_first_use"] = round(found["first use"]["seconds"] - found["again"]["seconds"], 2)
    asked.say(f"the first run is {found['cost_of_first_use']:.1f} s slower than the second")
    return found


CHECKS: Mapping[str, Callable[[Asked], dict[str, Any]]] = {f.__name__: f for f in (sessions, runs)}


def _run(asked: Asked, commands: Sequence[Sequence[str]], outs: Sequence[Path]) -> dict[str, Any]:
    """Commands at the same time: seconds until the last has ended, and the summaries of all; or an ``error``."""
    further = ["--bundle", str(asked.bundle), "--device", asked.device]
    with ExitStack() as opened:
        log = opened.enter_context((asked.logs / "runs.log").open("a"))
        began = time.perf_counter()
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "scorer", "run", *command, *further, "--out", str(out)],
                env=dict(asked.environment), stdout=log, stderr=subprocess.PIPE, text=True,
            )
            for command, out in zip(commands, outs, strict=True)
        ]  # fmt: skip
        for process in processes:
            opened.callback(process.kill)
        try:
            said = [process.communicate(timeout=_RUN_S)[1] for process in processes]
        except subprocess.TimeoutExpired:
            return {"error": f"no end within {_RUN_S:.0f} s"}
        seconds = time.perf_counter() - began
        log.write("\n".join(said))
    for process, text in zip(processes, said, strict=True):
        if process.returncode:
            return {"error": f"exit code {process.returncode}: {' '.join(text.split())[-300:]}"}
    summaries = [json.loads((out / "_run.json").read_text()) for out in outs]
    checks = [one["checks"] for one in summaries]
    return {
        "seconds": round(seconds, 2), "speed": [one["speed"] for one in summaries],
        "stages": [one["seconds"] for one in summaries],
        **{key: sum(one[key] for one in checks) for key in ("recomputed", "unique")},
    }  # fmt: skip


def _halved(rows: Path, folder: Path) -> list[Path]:
    table = pq.read_table(rows)
    middle = len(table) // 2
    halves = [folder / "rows-1.parquet", folder / "rows-2.parquet"]
    pq.write_table(table.slice(0, middle), halves[0], compression="zstd")
    pq.write_table(table.slice(middle), halves[1], compression="zstd")
    return halves


def _listed(elsewhere: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(f"{place}: {', '.join(f'{op} {n}' for op, n in ops.items())}" for place, ops in elsewhere.items())
