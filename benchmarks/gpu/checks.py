"""Questions to a GPU that are not rates of settings: each prints its answers, line by line, and returns them.

A question is asked for each form of the graph in a process of its own (:mod:`benchmarks.runners.device`), so that what
crashes or hangs costs that form alone, and the reason stands in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import attention_log
from benchmarks.rounds import WorkerError, ask_once

from .whole_runs import Program

LENGTHS = (16, 48, 128, 384, 512)
_LIMIT_S = 180.0


@dataclass(frozen=True)
class Asked:
    """What all questions share.

    ``bundle``: random weights, full size. ``weighted``: bundles with real weights, by name. ``budget``: tokens a
    call. ``rate``: sustained FLOP/s of the device's matrix products. ``sample``: makes the sample of many rows.
    ``environment``: of our processes.
    """

    device: str
    precision: str
    bundle: Path
    weighted: Mapping[str, Path]
    budget: int
    rate: float
    sample: Callable[[], Any]
    environment: Mapping[str, str]
    logs: Path
    say: Callable[[str], None]

    @property
    def on_gpu(self) -> bool:
        return self.device.startswith("cuda")

    def ask(
        self,
        runner: str,
        options: Mapping[str, Any],
        *,
        bundle: Path | None = None,
        pairs: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """A runner's answer, or ``{"error": why there is none}``. ``environment``: in addition."""
        spec = {
            "runner": runner, "device": self.device, "bundle": str(bundle or self.bundle), "options": dict(options),
            "pairs": pairs,
        }  # fmt: skip
        log = self.logs / f"{runner.replace(':', '.')}.log"
        try:
            found: dict[str, Any] = ask_once(spec, {**self.environment, **(environment or {})}, log, _LIMIT_S)
        except WorkerError as e:
            return {"error": str(e)}
        return found

    def of_forms(
        self,
        runner: str,
        found: dict[str, Any],
        options: Mapping[str, Any],
        *,
        name: str = "",
        bundle: Path | None = None,
        **more: Any,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """A runner's answers for the forms of a bundle, each with its words. Where there is none, why is said.

        Args:
            found: gets all answers, and the reasons.
            name: of the bundle, before the words.
        """
        for form, usual in self.forms(bundle):
            words = name + form
            one = found[words] = self.ask(runner, {**usual, **options}, bundle=bundle, **more)
            if "error" in one:
                self.say(f"{words}: {one['error']}")
            else:
                yield words, one

    def forms(self, bundle: Path | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Forms of a bundle's graph in the precision that is measured, in words and as options of a runner."""
        variants = json.loads(((bundle or self.bundle) / "bundle.json").read_text())["variants"]
        for about in variants.values():
            if about["precision"] == self.precision:
                layout = about.get("layout", "padded")
                options = {"precision": self.precision, "layout": layout, "in_smoke_test": True}
                yield layout, {**options, "token_budget": self.budget}


def sessions(asked: Asked) -> dict[str, Any]:
    """Versions; where the nodes run, and copies between devices."""
    found: dict[str, Any] = {"versions": asked.ask("device.versions:found", {})}
    asked.say("; ".join(f"{name} {value}" for name, value in found["versions"].items()))
    fp32 = {"precision": "fp32", "layout": "padded"}
    forms = dict(asked.forms()) | {"fp32": fp32}
    for words, options in forms.items():
        found[words] = one = asked.ask("device.sessions:opened", options)
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
        for line in one["log"][:5]:
            asked.say(f"  the runtime warns: {line}")
    return found


def attention(asked: Asked) -> dict[str, Any]:
    """Which attention kernel runs at which length."""
    found: dict[str, Any] = {}
    more = {attention_log.VARIABLE: "1"}
    options = {"lengths": LENGTHS}
    for words, one in asked.of_forms("device.attention:by_length", found, options, environment=more):
        for length, at in one.items():
            share = f", attention {at['attention']:.1%}" if at["attention"] is not None else ""
            asked.say(
                f"{words}, {length} tokens: {at['pairs']} pairs, {at['tokens'] / at['seconds']:,.0f} tokens/s{share}"
            )
            for name, (seconds, calls) in list(at["kernels"].items())[:2]:
                asked.say(f"  {1000 * seconds:.2f} ms, {calls} calls: {name[:100]}")
            for line, times in list(at["said"].items())[:3]:
                asked.say(f"  the runtime says {times} times: {line[:140]}")
    return found


def company(asked: Asked) -> dict[str, Any]:
    """Steps 4 and 7: every form on the probes, against fp32, and alone against in company."""
    found: dict[str, Any] = {}
    for name, bundle in {"random": asked.bundle, **asked.weighted}.items():
        for words, one in asked.of_forms("device.company:facts", found, {}, name=f"{name}, ", bundle=bundle):
            asked.say(
                f"{words}: {one['label_agreement']:.2%} of the labels of {one['probes']} probes, largest |Δlogit| "
                f"{one['bound']:.3g}; alone against in company {one['invariance_error']:.3g}"
            )
    return found


def profile(asked: Asked) -> dict[str, Any]:
    """Where the time of ten full calls goes."""
    found: dict[str, Any] = {}
    pairs = asked.sample().pairs_file
    for words, one in asked.of_forms("device.profile:calls", found, {"calls": 10}, pairs=pairs):
        asked.say(f"{words}: {one['calls']} calls, {one['real'] / one['seconds']:,.0f} real tokens/s")
        if "kinds" not in one:
            asked.say("  nothing ran on a CUDA device")
            continue
        total = sum(one["kinds"].values())
        shares = ", ".join(f"{kind} {seconds / total:.1%}" for kind, seconds in one["kinds"].items())
        asked.say(f"  of the kernels' time: {shares}; idle {one['idle']:.1%}, only copying {one['copies']:.1%}")
        for name, (seconds, calls) in list(one["kernels"].items())[:12]:
            asked.say(f"  {seconds / total:6.1%}, {calls:,} calls: {name[:100]}")
    return found


def ceiling(asked: Asked) -> dict[str, Any]:
    """What matrix products alone reach, of squares and of the model's shapes, for five seconds each."""
    sizes = json.loads((asked.bundle / "bundle.json").read_text())["architecture"]
    hidden, inner = sizes["hidden_size"], sizes["intermediate_size"]
    rows, square, seconds = (65536, 8192, 5.0) if asked.on_gpu else (256, 256, 0.05)
    products = {
        "square": (square, square, square), "query, key, value": (rows, hidden, 3 * hidden),
        "attention output": (rows, hidden, hidden), "up": (rows, hidden, inner), "down": (rows, inner, hidden),
    }  # fmt: skip
    dtype = "float16" if asked.on_gpu else "float32"
    found = asked.ask("matrix:sustained", {"products": products, "dtype": dtype, "seconds": seconds})
    if "error" in found:
        asked.say(found["error"])
        return found
    for name, one in found.items():
        shape = " × ".join(map(str, products[name]))
        asked.say(
            f"{name}, {shape}: {one['sustained'] / 1e12:.2f} TFLOP/s sustained, {one['burst'] / 1e12:.2f} in a burst"
        )
    layer = [name for name in products if name != "square"]
    work = sum(2 * products[name][0] * products[name][1] * products[name][2] for name in layer)
    sustained, burst = (work / sum(found[name][each] for name in layer) for each in ("each", "each_burst"))
    asked.say(
        f"a layer's products together: {sustained / 1e12:.2f} TFLOP/s sustained, {burst / 1e12:.2f} in a burst; "
        f"sustained, {sustained / asked.rate:.1%} of the rate used"
    )
    return {**found, "layer": {"sustained": sustained, "burst": burst}}


def runs(asked: Asked) -> dict[str, Any]:
    """The command line on many rows: first use, again, and two processes on one device."""
    program = Program(asked.bundle, asked.device, asked.environment, asked.logs / "runs.log", asked.say)
    return program.cold_warm_two(Path(asked.sample().rows_file))


CHECKS: Mapping[str, Callable[[Asked], dict[str, Any]]] = {
    f.__name__: f for f in (sessions, attention, runs, profile, ceiling, company)
}


def _listed(elsewhere: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(f"{place}: {', '.join(f'{op} {n}' for op, n in ops.items())}" for place, ops in elsewhere.items())
