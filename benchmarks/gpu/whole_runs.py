"""``scorer run`` as a user starts it: what the first use of a bundle costs, two processes at once."""

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

_LIMIT_S = 600.0


@dataclass(frozen=True)
class Program:
    """``scorer run`` with a bundle on a device. ``environment``: of the processes. ``log``: what they print. ``say``:
    told each answer in words."""

    bundle: Path
    device: str
    environment: Mapping[str, str]
    log: Path
    say: Callable[[str], None]

    def cold_warm_two(self, rows: Path) -> dict[str, Any]:
        """Rows of one file with nothing on record of the bundle, again, and as two processes at once with half of them
        each. The answers have ``seconds`` of the command, and what each ``_run.json`` says of its ``speed``."""
        found: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            halves = _halved(rows, folder)
            fresh = replace(self, environment={**self.environment, "XDG_CACHE_HOME": str(folder / "cache")})
            for words, inputs in {
                "first use": [halves], "again": [halves], "two at once": [[half] for half in halves]
            }.items():  # fmt: skip
                outs = [folder / f"{words}-{i}" for i in range(len(inputs))]
                found[words] = one = fresh.run([[*map(str, paths)] for paths in inputs], outs)
                if "error" in one:
                    self.say(f"{words}: {one['error']}")
                    return found
                rate, tokens = (
                    sum(speed[key] for speed in one["speed"]) for key in ("unique_pairs_per_s", "real_tokens_per_s")
                )
                used = [f"{speed['utilisation']:.1%}" for speed in one["speed"] if speed["utilisation"]]
                self.say(
                    f"{words}: {one['seconds']:.1f} s in all; {rate:,.0f} distinct pairs/s and {tokens:,.0f} real "
                    f"tokens/s once started; utilisation by its own account {', '.join(used) or 'unknown'}"
                )
        found["cost_of_first_use"] = round(found["first use"]["seconds"] - found["again"]["seconds"], 2)
        self.say(f"the first run is {found['cost_of_first_use']:.1f} s slower than the second")
        return found

    def run(self, asked: Sequence[Sequence[str]], outs: Sequence[Path]) -> dict[str, Any]:
        """Commands at the same time: seconds until the last has ended, and the summaries of all; or an ``error``."""
        further = ["--bundle", str(self.bundle), "--device", self.device]
        with ExitStack() as opened:
            log = opened.enter_context(self.log.open("a"))
            began = time.perf_counter()
            processes = [
                subprocess.Popen(
                    [sys.executable, "-m", "scorer", "run", *command, *further, "--out", str(out)],
                    env=dict(self.environment), stdout=log, stderr=subprocess.PIPE, text=True,
                )
                for command, out in zip(asked, outs, strict=True)
            ]  # fmt: skip
            for process in processes:
                opened.callback(process.kill)
            try:
                said = [process.communicate(timeout=_LIMIT_S)[1] for process in processes]
            except subprocess.TimeoutExpired:
                return {"error": f"no end within {_LIMIT_S:.0f} s"}
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
