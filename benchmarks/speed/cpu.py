"""Compare this project with its alternatives on this machine's processor, in one run.

    python -m benchmarks.speed.cpu [--smoke] [--folder .bench] [--pairs 96] [--rounds 3] [--only NAME ...] [--save]

Distinct pairs with a full-size model of random weights, in a smoke run with the embedded model. Programs are measured
as documented and in their fastest configuration. Prints a table; writes every round as JSON to ``results`` below
``--folder``, and with ``--save`` to ``benchmarks/results/cpu.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from scorer.inference.bundle import Bundle

from . import ours, peers
from .harness import Runner, SettingError, cores, describe, in_words, time_setting
from .prepare import PARTS, prepare
from .sample import write_sample

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "torch-fp32"
"""The setting that labels, probabilities and speeds on pairs are compared with."""


@dataclass(frozen=True)
class Setting:
    """A way to compute the sample. ``needs``: prepared parts. ``bare``: not a program but a limit."""

    name: str
    label: str
    runner: Runner
    options: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ("checkpoint",)
    ours: bool = False
    bare: bool = False


def settings(*, everyone: bool) -> list[Setting]:
    """Settings on distinct pairs; without ``everyone`` only those that need just the checkpoint, in fp32."""
    one: dict[str, Any] = {"batches": [1]}
    peer, bf16, onnx = peers.cross_encoder, {"dtype": "bfloat16"}, {"backend": "onnx", "folder": "onnx"}
    int8, exported, converted = "model_qint8_avx512_vnni.onnx", ("checkpoint", "onnx"), ("checkpoint", "openvino")
    found = [
        Setting(REFERENCE, "PyTorch fp32, batches by length", peers.torch_batches),
        Setting("script", "PyTorch fp32, one pair at a time (the original script's way)", peers.torch_batches, one),
        Setting("pipeline", "transformers pipeline, as documented (batch 1)", peers.pipeline),
        Setting("ce-fp32", "CrossEncoder fp32", peer),
    ]
    best = {**bf16, "sorted": True, "batches": peers.SIZES}
    optimised, quantised = onnx | {"file": "onnx/model_O3.onnx"}, onnx | {"file": f"onnx/{int8}"}
    found += everyone * [
        Setting("torch-bf16", "PyTorch bf16, batches by length", peers.torch_batches, bf16),
        Setting("pipeline-best", "transformers pipeline, best (bf16, by length)", peers.pipeline, best),
        Setting("ce-bf16", "CrossEncoder bf16", peer, bf16),
        Setting("ce-onnx", "CrossEncoder ONNX, optimised (O3)", peer, optimised, exported),
        Setting("ce-int8", "CrossEncoder ONNX int8 (dynamic)", peer, quantised, exported),
        Setting("ce-openvino", "CrossEncoder OpenVINO, as documented", peer, {"backend": "openvino"}),
    ]
    for name, file, precision in everyone * (("fp32", "fp32", "f32"), ("bf16", "fp32", "bf16"), ("int8", "int8", None)):
        options = {"file": f"model.{file}.xml", "precision": precision}
        label = f"OpenVINO {name}{' (NNCF)' if name == 'int8' else ''}"
        found.append(Setting(f"ov-{name}", label, peers.openvino, options, converted))
    for name in ("fp32", "int8"):
        of_ours: tuple[Any, ...] = ({"precision": name}, ("bundle",))
        found += [
            Setting(f"bare-{name}", f"bare session {name}", ours.bare_session, *of_ours, bare=True),
            Setting(f"engine-{name}", f"d2t-scorer {name}, pairs", ours.engine_pairs, *of_ours, ours=True),
            Setting(f"run-{name}", f"d2t-scorer {name}, `scorer run`", ours.score_run, *of_ours, ours=True),
        ]
    return found


Entry = dict[str, Any]
"""A setting in the results: its name, label, ``error`` or ``rounds``, what it chose, and figures."""


def run_rounds(
    asked: Sequence[Setting],
    spec: Mapping[str, Any],
    rounds: int,
    logs: Path,
    *,
    failed: Mapping[str, str] | None = None,
    deadline: float = float("inf"),
) -> list[Entry]:
    """Measure settings in interleaved rounds, so that other load on the machine affects all equally: the first in the
    order given, later ones with the fastest first, so that these have most rounds when the time is over.

    Args:
        spec: of every runner, but for its options.
        failed: parts that could not be prepared, with the reason.
        deadline: after it, the first round is finished and no other one started.
    """
    logs.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Entry] = {}
    for one in asked:
        error = next((f"{part}: {failed[part]}" for part in one.needs if failed and part in failed), None)
        about = {"name": one.name, "label": one.label, "ours": one.ours, "bare": one.bare}
        entries[one.name] = {**about, "error": error, "rounds": []}
    order = list(asked)
    for number in range(rounds):
        for setting in order:
            if number and time.monotonic() > deadline:
                return list(entries.values())
            entry = entries[setting.name]
            if entry["error"] is None:
                _run_pass(setting, entry, number, spec, logs)
        order.sort(key=lambda one: min((r["seconds"] for r in entries[one.name]["rounds"]), default=float("inf")))
    return list(entries.values())


def _run_pass(setting: Setting, entry: Entry, number: int, spec: Mapping[str, Any], logs: Path) -> None:
    options = dict(setting.options)
    if "batch" in entry.get("chosen", {}):  # that of the first round, so that all measure the same
        options["batches"] = [entry["chosen"]["batch"]]
    try:
        found = time_setting(setting.runner, {**spec, "options": options}, logs / f"{setting.name}.log")
    except SettingError as error:
        entry["error"] = str(error)
        return say(f"round {number + 1}  failed: {setting.label}: {error}")
    opened = {name: found.pop(name) for name in ("chosen", "load_seconds", "answers")}
    entry |= {} if entry["rounds"] else opened
    entry["rounds"].append({"round": number, **found})
    say(f"round {number + 1}  {found['seconds']:8.2f} s  {setting.label}")


def summarise(entries: Sequence[Entry], items: int, reference: str) -> None:
    """Add medians, ratios, and agreement with the reference, in place of answers. ``items``: of a pass."""
    done = {one["name"]: one for one in entries if one["rounds"]}
    expected = done[reference]["answers"] if reference in done else None
    for name, entry in done.items():
        rates = [items / found["seconds"] for found in entry["rounds"]]
        entry |= {"median": statistics.median(rates), "lowest": min(rates), "highest": max(rates)}
        entry |= {of: max(found[of] for found in entry["rounds"]) for of in ("others", "peak_mb")}
        answers = entry.pop("answers")
        if expected is not None:
            entry |= {"ratio": speed_over(entry, done[reference]), **agreement(answers, expected)}
        bare = done.get(f"bare-{name.split('-', 1)[-1]}")
        if entry["ours"] and bare is not None:
            entry["of_bare"] = speed_over(entry, bare)


def speed_over(entry: Entry, other: Entry) -> float | None:
    theirs = {one["round"]: one["seconds"] for one in other["rounds"]}
    ratios = [theirs[one["round"]] / one["seconds"] for one in entry["rounds"] if one["round"] in theirs]
    return round(statistics.median(ratios), 4) if ratios else None


def agreement(found: Any, expected: Any) -> dict[str, float]:
    """Share of equal labels, and the largest difference of probabilities, *Shape:* (pairs, 3); nothing for labels."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape or a.ndim != 2:
        return {}
    labels = float((a.argmax(axis=1) == b.argmax(axis=1)).mean())
    return {"labels": labels, "max_probability": float(np.abs(a - b).max())}


def table(title: str, entries: Sequence[Entry]) -> str:
    """A Markdown table, fastest first; settings that could not be measured are last, with the reason."""
    lines = [f"**{title}**", ""]
    lines += [f"| setting | pairs/s | lowest to highest | × {REFERENCE} | labels as there | largest \\|Δp\\| | how |"]
    lines += ["|---|---:|---:|---:|---:|---:|---|"]
    for one in sorted((one for one in entries if one["rounds"]), key=lambda one: -one["median"]):
        label = f"**{one['label']}**" if one["ours"] else f"*{one['label']}*" if one["bare"] else one["label"]
        shown = ["" if one.get(of) is None else f"{one[of]:.3g}" for of in ("ratio", "labels", "max_probability")]
        how = [f"{len(one['rounds'])} rounds", f"others' cores {one['others']}"]
        how += [f"{name} {one['chosen'][name]}" for name in ("batch", "shapes") if name in one["chosen"]]
        how += [f"{one['of_bare']:.1%} of the bare session"] if one.get("of_bare") else []
        spread = f"{one['lowest']:.3g} to {one['highest']:.3g}"
        lines.append(f"| {' | '.join([label, format(one['median'], '.3g'), spread, *shown, ', '.join(how)])} |")
    lines += [f"\nNot measured: {one['label']}: {one['error']}" for one in entries if not one["rounds"]]
    return "\n".join(lines) + "\n"


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def measure(given: argparse.Namespace) -> Entry:
    """Run the rounds of a model and print their table: all settings with a full-size model, or in a smoke run the
    embedded one with the peers that need just its checkpoint."""
    base, failed = given.folder / ("embedded" if given.smoke else given.preset), dict[str, str]()
    if given.smoke:
        paths = {"checkpoint": base / "checkpoint", "bundle": Bundle.load("embedded").path}
        if not paths["checkpoint"].exists():
            command = [sys.executable, "-m", "training.general.rebuild", paths["bundle"], paths["checkpoint"]]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    else:
        failed = prepare(base, given.preset, say)
        paths = {part: base / part for part in PARTS}
    sample = write_sample(base / "sample", Bundle.load(paths["bundle"]), given.pairs)
    title = "embedded model" if given.smoke else f"{given.preset}, random weights"
    title += f": {sample.pairs} distinct pairs, {sample.tokens / sample.pairs:.0f} tokens each"
    asked = [
        one for one in settings(everyone=not given.smoke) if not given.only or one.name in (*given.only, REFERENCE)
    ]
    spec = {name: str(path) for name, path in paths.items()}
    spec |= {"pairs": sample.pairs_file, "rows": sample.rows_file, "threads": cores()}
    say(f"\n{title}")
    deadline = time.monotonic() + 60 * given.minutes
    entries = run_rounds(asked, spec, given.rounds, given.folder / "logs", failed=failed, deadline=deadline)
    summarise(entries, sample.pairs, REFERENCE)
    print(table(title, entries))
    return {"name": "pairs", "title": title, "items": sample.pairs, "reference": REFERENCE, "settings": entries}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--folder", type=Path, default=Path(".bench"), help="models and samples, kept for later runs")
    add("--smoke", action="store_true", help="measure only the embedded model, and fewer peers")
    add("--preset", default="roberta-large", help="size of the model with random weights")
    add("--pairs", type=int, default=96, help="minimum number of distinct pairs for that model")
    add("--rounds", type=int, help="number of rounds; default: 3, or 1 in a smoke run")
    add("--minutes", type=float, default=22.0, help="start no further round after this time")
    add("--only", nargs="+", default=[], help="settings to measure, by name; the reference always runs")
    add("--save", action="store_true", help="write the result to benchmarks/results/cpu.json")
    given = parser.parse_args(arguments)
    if given.save and given.smoke:
        parser.error("--save is for a complete comparison; leave --smoke out")
    given.rounds = given.rounds or (1 if given.smoke else 3)
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {  # of the settings: no network, no progress output, a cache of their own
        "OMP_NUM_THREADS": str(cores()),
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "XDG_CACHE_HOME": str(given.folder.resolve() / "cache"),
    }
    started = datetime.now(UTC).isoformat(timespec="seconds")
    group = measure(given)
    file = given.folder / "results" / ("smoke.json" if given.smoke else "cpu.json")
    if given.save:
        file = ROOT / "benchmarks" / "results" / "cpu.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    here = describe()
    content = {"kind": "cpu", "started": started, "machine": here, "groups": [group]}
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(f"Machine: {in_words(here)}. Started: {started}. Every round: {file}")


if __name__ == "__main__":
    main()
