"""This project: the whole program from Parquet to Parquet, and a bare session with the batches of the program."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from scorer.inference.batching import Feed
from scorer.inference.bundle import Bundle
from scorer.inference.engine import EncodedPairs, Engine
from scorer.inference.session import resolve_device
from scorer.inference.variants import VariantChoice

from .common import Probabilities, load_cuda, load_pairs, softmax


class Silent:
    """A reporter that prints nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def _engine_options(spec: dict[str, Any]) -> dict[str, Any]:
    options = spec["options"]
    asked = {
        key: options[key] for key in ("token_budget", "exact", "layout", "attention", "device_memory") if key in options
    }
    return {
        "device": spec.get("device", "cpu"),
        "precision": options["precision"],
        "threads": spec.get("threads"),
        **asked,
    }


def open_engine(spec: dict[str, Any], **further: Any) -> Engine:
    """An engine at the setting's options. ``further``: arguments of the engine that JSON cannot hold."""
    load_cuda(spec)
    bundle, options = Bundle.load(spec["bundle"]), _engine_options(spec)
    if "step" in spec["options"]:
        options["step"] = spec["options"]["step"]
    if not spec["options"].get("unverified"):
        return Engine.open(bundle, **options, **further)
    on, asked = resolve_device(options["device"]), ("precision", "layout", "attention", "device_memory", "step")
    ((use, *_), *_) = VariantChoice(bundle, **{key: options[key] for key in asked if key in options}).variants(on)
    return Engine(use, options.get("token_budget") or use.usual_budget, **further)


def settled(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], list[str]]:
    """Open an engine as a run does, so that what is found out at first use is on record before anything is timed.

    Predictions with the layout and the attention that the device runs.
    """
    with open_engine(spec) as engine:
        found = [engine.use.layout, engine.use.attention]
    return lambda: found


def prepare(spec: dict[str, Any], engine: Engine) -> EncodedPairs:
    """The sample's pairs as the engine packs them."""
    pairs, _ = load_pairs(spec)
    n = len(pairs)
    texts = [premise for premise, _ in pairs] + [hypothesis for _, hypothesis in pairs]
    return engine.encode(texts, np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32))


def scattered(work: EncodedPairs, results: Sequence[npt.NDArray[np.float32]]) -> Probabilities:
    """Probabilities of the sample's pairs from the logits of the batches.

    Args:
        results: float32, *Shape:* (pairs of the call, 3) each, in the order of ``work.batches``.
    """
    logits = np.zeros((len(work.pairs), 3), np.float32)
    for batch, result in zip(work.batches, results, strict=True):
        logits[batch.pairs] = result[: len(batch.pairs)]
    return softmax(logits)[work.pairs.inverse]


def bare_session(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[Probabilities, float]]:
    """The runtime alone: batches are tokenised, packed and assembled before the measurement.

    No program that uses the runtime can be faster; the ratio to it is the program's overhead.
    """
    engine = open_engine(spec)
    work = prepare(spec, engine)
    feeds = [engine.session.feed(batch, work) for batch in work.batches]
    session = engine.session.session

    def call(feed: Feed) -> npt.NDArray[np.float32]:
        logits: npt.NDArray[np.float32] = session.run(["logits"], feed)[0]
        return logits

    def run() -> tuple[Probabilities, float]:
        began = time.perf_counter()
        results = [call(feed) for feed in feeds]
        seconds = time.perf_counter() - began
        return scattered(work, results), seconds

    if spec["options"].get("warm"):
        chosen["first_pass_seconds"] = round(run()[1], 3)
    else:
        list(map(call, feeds[:: max(1, len(feeds) // 8)]))
    chosen.update(shapes_of(engine, work))
    return run


def run_here(scorer: Any, rows: str, out: Path, **options: Any) -> Any:
    """The outcome of ``scorer run`` in this process with a scorer that is open, and stays so.

    Args:
        options: of :class:`scorer.run.executors.RunOptions`.
    """
    from scorer.run.driver import run
    from scorer.run.executors import Job, RunOptions
    from scorer.run.inline import Inline

    job, reporter = Job(scorer.settings, RunOptions((rows,), out, **options)), Silent()
    opened = mock.patch("scorer.run.shard_scorer.open_scorer", lambda *arguments: scorer)
    with opened, mock.patch.object(scorer, "close", lambda: None):
        return run(Inline(job, reporter), reporter)


def score_run(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[Any, float]]:
    """``scorer run`` on the sample's rows, Parquet to Parquet, without loading: the time of reading, checks, tokens,
    inference, verdicts, writing with checksums, and receipts. The result is the label of every row.

    The scorer is opened once and kept between passes, as the program keeps it between shards.
    """
    import pyarrow.parquet as pq

    from scorer import Scorer
    from scorer.storage.plan import Budgets

    load_cuda(spec)
    asked = _engine_options(spec)
    names = {"threads": "threads", "token_budget": "batch_tokens", "layout": "layout", "attention": "attention"}
    budgets = Budgets(**{field: asked.pop(name) for name, field in names.items() if name in asked})
    scorer = Scorer(spec["bundle"], budgets=budgets, **asked)
    rows = Path(spec["rows"])

    def one() -> tuple[list[str], float]:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        began = time.perf_counter()
        try:
            outcome = run_here(scorer, str(rows), folder / "out")
            seconds = time.perf_counter() - began
            if outcome.exit_code:
                raise RuntimeError(outcome.reason)
            chosen["unique"] = outcome.summary.counts.checks.unique
            return pq.read_table(folder / "out" / rows.name)["fine"].to_pylist(), seconds
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    pairs, lengths = load_pairs(spec)
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)]
    scorer.engine.logits([pairs[i][0] for i in few], [pairs[i][1] for i in few])
    chosen.update(precision=scorer.engine.precision, threads=scorer.engine.threads)
    report = scorer.engine.report
    assert report is not None
    chosen.update(isolated=report.isolated, bound=report.bound)
    chosen.update(token_budget=scorer.engine.grid.token_budget)
    if spec["options"].get("warm"):
        chosen["first_pass_seconds"] = round(one()[1], 3)
    return one


def engine_pairs(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """The engine on pairs of strings, with the inputs and results of the peers. ``exact``: whether as with ``--exact``;
    if given, labels are in the order contradiction, neutral, entailment."""
    engine = open_engine(spec)
    pairs, lengths = load_pairs(spec)
    premises, hypotheses = ([pair[side] for pair in pairs] for side in (0, 1))
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)]
    engine.logits([premises[i] for i in few], [hypotheses[i] for i in few])
    chosen.update(shapes_of(engine, prepare(spec, engine)))
    if "exact" in spec["options"]:
        return lambda: engine.predict(prepare(spec, engine)).probabilities
    return lambda: softmax(engine.logits(premises, hypotheses))


def shapes_of(engine: Engine, work: EncodedPairs) -> dict[str, Any]:
    """Counted things: calls, shapes, padding."""
    shapes = {(batch.rows, batch.tokens) for batch in work.batches}
    return {
        "calls": len(work.batches),
        "shapes": len(shapes),
        "padding": round(1 - work.real_tokens / work.padded_tokens, 4),
        "token_budget": engine.grid.token_budget,
        "layout": engine.use.layout,
        "attention": engine.use.attention,
        "threads": engine.threads,
    }
