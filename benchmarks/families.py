"""Pairs per second of every family at its usual sizes, by precision, on the CPU.

    python -m benchmarks.families [NAME ...] [--pairs 64] [--rounds 3] [--out benchmarks/results/families.json]

Each NAME is a size that ``scorer export --random-init`` knows; by default all of them but the tiny ones. Weights are
random, since speed does not depend on them. Each bundle is exported in a process of its own into ``--folder`` and
removed when it was measured; with ``--step export`` and ``--step measure`` all are exported first and stay. The same
pairs of texts, which ``benchmarks.make_rows`` writes, go through each family's own tokenizer and through the engine,
in fp32 and in int8; a tokenizer with a small vocabulary of its own gives a pair more tokens than the real one, so
tokens per pair are reported too. The rate is the median of the rounds, in which the precisions alternate. Sizes that
``--out`` has from this machine are kept. Nothing else should run; how many processors other programs kept busy is
reported.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scorer.inference.batches import Work
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine

from . import machine, make_rows
from .worker import measure as timed

PRECISIONS = ("fp32", "int8")
RESULTS = Path(__file__).parent / "results" / "families.json"


def texts(pairs: int) -> tuple[list[str], list[str]]:
    """So many pairs, as omission checks have them: a text, and a fact of its input."""
    rng = np.random.default_rng(0)
    premises: list[str] = []
    hypotheses: list[str] = []
    for i, one in enumerate(make_rows.inputs(rng, pairs)):
        facts = [f"The {predicate} of {subject} is {value}." for subject, predicate, value in one]
        premises += [make_rows.render(rng, one, i % 3)] * len(facts)
        hypotheses += facts
    return premises[:pairs], hypotheses[:pairs]


def measure(folder: Path, pairs: int, rounds: int) -> dict[str, Any]:
    """Rates of a bundle's variants for a CPU.

    Returns:
        ``tokens``: per pair, special tokens included. ``rates``: pairs per second of each precision, their median.
        ``computed``: pairs that each engine computed in the rounds. ``others``: processors that other processes kept
        busy in the worst pass, ``None`` where that cannot be read.
    """
    bundle = Bundle.load(folder)
    premises, hypotheses = texts(pairs)
    positions = np.arange(2 * pairs, dtype=np.int32)
    with ExitStack() as stack:
        engines: dict[str, Engine] = {}
        work: dict[str, Work] = {}
        for precision in PRECISIONS:
            # Not tried in another process first, since this one exported it.
            engine = stack.enter_context(Engine(bundle, device="cpu", precision=precision, on_trial=True))
            engines[precision] = engine
            work[precision] = engine.prepare([*premises, *hypotheses], positions[:pairs], positions[pairs:])
            few = np.arange(min(len(work[precision].pairs), 8))
            engine.run_batches(engine.select(work[precision], few))
        before = {precision: engine.computed for precision, engine in engines.items()}
        passes: dict[str, list[dict[str, Any]]] = {precision: [] for precision in PRECISIONS}
        for _ in range(rounds):
            for precision, engine in engines.items():
                passes[precision].append(timed(partial(engine.run_batches, work[precision])))
        lengths = work[PRECISIONS[0]].lengths
        others = [one["others"] for each in passes.values() for one in each if one["others"] is not None]
        return {
            "tokens": round(float(lengths.mean()), 1),
            "rates": {
                p: round(len(lengths) / statistics.median(one["seconds"] for one in passes[p]), 2) for p in PRECISIONS
            },
            "computed": {p: engine.computed - before[p] for p, engine in engines.items()},
            "others": round(max(others), 2) if others else None,
        }


def export(name: str, out: Path) -> None:
    """Export a usual size with random weights.

    Raises:
        subprocess.CalledProcessError: the export failed; its message is on stderr.
    """
    command = [sys.executable, "-m", "scorer", "export", name, str(out), "--random-init"]
    subprocess.run([*command, "--precision", ",".join(PRECISIONS)], check=True, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str] | None = None) -> None:
    from export.random_init import PRESETS

    usual = [name for name in PRESETS if "tiny" not in name]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"by default {', '.join(usual)}")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(".bench") / "families")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON; written after each size")
    parser.add_argument("--step", choices=("export", "measure"), help="one of the two, with the bundles kept")
    args = parser.parse_args(arguments)
    here, found = machine.describe(), []
    if args.out.exists():  # sizes that were measured on this machine before stay
        before = json.loads(args.out.read_text())
        found = [one for one in before["sizes"] if before["machine"] == here]
    if args.step != "export":
        print("| size | parameters | tokens per pair | fp32, pairs/s | int8, pairs/s | int8 / fp32 | others' cores |")
        print("|---|---|---|---|---|---|---|", flush=True)
    for name in args.names or usual:
        folder = args.folder / name
        if args.step != "measure":
            shutil.rmtree(folder, ignore_errors=True)
            export(name, folder)
        if args.step == "export":
            continue
        parameters = Bundle.load(folder).parameters
        one = measure(folder, args.pairs, args.rounds)
        found = [other for other in found if other["name"] != name]
        found.append({"name": name, "parameters": parameters, "pairs": args.pairs, "ended": machine.now(), **one})
        fp32, int8 = (one["rates"][precision] for precision in PRECISIONS)
        print(
            f"| `{name}` | {parameters / 1e6:.0f} M | {one['tokens']} | {fp32} | {int8} | {int8 / fp32:.1f} | "
            f"{one['others']} |",
            flush=True,
        )
        content = {"machine": here, "sizes": found}
        args.out.write_text(json.dumps(content, indent=1) + "\n")
        if args.step is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
