"""Runners of this program: Parquet to Parquet, the engine on pairs, and a bare session with the program's batches."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from scorer.inference.bundle import Bundle
from scorer.inference.engine import EncodedPairs, Engine, Logits
from scorer.inference.session import ModelSession
from scorer.inference.verification import open_engine as open_verified

from .peers import Probabilities, Spec, load_pairs, softmax


class Silent:
    """A reporter that prints nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def open_engine(spec: Spec) -> Engine:
    device = spec.get("device", "cpu")
    if device.startswith("cuda"):
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401 - it loads CUDA's libraries before the runtime searches for them
    return open_verified(Bundle.load(spec["bundle"]), device=device, threads=spec.get("threads"), **spec["options"])


def encode(spec: Spec, engine: Engine) -> EncodedPairs:
    pairs, _ = load_pairs(spec)
    n = len(pairs)
    texts = [premise for premise, _ in pairs] + [hypothesis for _, hypothesis in pairs]
    return engine.encode(texts, np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32))


def bare_session(spec: Spec, chosen: Spec) -> Callable[[], tuple[Probabilities, float]]:
    """The runtime alone, batches assembled before: no program that uses it can be faster."""
    engine = open_engine(spec)
    work = encode(spec, engine)
    one_pass = session_pass(engine.session, work)
    chosen.update(_counted(engine, work))

    def probabilities() -> tuple[Probabilities, float]:
        logits, seconds = one_pass()
        return softmax(logits)[work.pairs.inverse], seconds

    return probabilities


def session_pass(session: ModelSession, work: EncodedPairs) -> Callable[[], tuple[Logits, float]]:
    """A pass of a session over batches that are assembled here, warmed up: the distinct pairs' logits, and seconds."""
    made = (session.layout.assemble(batch, work) for batch in work.batches)
    feeds = [{name: feed[name] for name in session.inputs} for feed in made]

    def one_pass() -> tuple[Logits, float]:
        began = time.perf_counter()
        results = [session.session.run(["logits"], feed)[0] for feed in feeds]
        seconds = time.perf_counter() - began
        logits = np.zeros((len(work.lengths), session.use.bundle.scheme.width), np.float32)
        for batch, result in zip(work.batches, results, strict=True):
            logits[batch.pairs] = result[: len(batch.pairs)]
        return logits, seconds

    for feed in feeds[:: max(1, len(feeds) // 8)]:
        session.session.run(["logits"], feed)
    return one_pass


def engine_pairs(spec: Spec, chosen: Spec) -> Callable[[], Probabilities]:
    """The engine on pairs of strings, as the peers. With the option ``exact``, given or not, labels are in the order
    contradiction, neutral, entailment."""
    engine = open_engine(spec)
    pairs, lengths = load_pairs(spec)
    premises, hypotheses = ([pair[side] for pair in pairs] for side in (0, 1))
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)].tolist()
    engine.logits([premises[i] for i in few], [hypotheses[i] for i in few])
    chosen.update(_counted(engine, encode(spec, engine)))
    if "exact" in spec["options"]:
        return lambda: engine.predict(encode(spec, engine)).probabilities
    return lambda: softmax(engine.logits(premises, hypotheses))


def score_run(spec: Spec, chosen: Spec) -> Callable[[], tuple[list[str], float]]:
    """``scorer run`` on the sample's rows, Parquet to Parquet, without loading: the labels of rows."""
    import pyarrow.parquet as pq

    from scorer import Scorer
    from scorer.storage.run_plan import Budgets

    precision, budgets = spec["options"]["precision"], Budgets(threads=spec.get("threads"))
    scorer = Scorer(spec["bundle"], device=spec.get("device", "cpu"), precision=precision, budgets=budgets)
    rows = Path(spec["rows"])

    def one_pass() -> tuple[list[str], float]:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        began = time.perf_counter()
        try:
            outcome = run_here(scorer, str(rows), folder / "out")
            seconds = time.perf_counter() - began
            if outcome.exit_code:
                raise RuntimeError(outcome.reason)
            return pq.read_table(folder / "out" / rows.name)["fine"].to_pylist(), seconds
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    pairs, lengths = load_pairs(spec)
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)].tolist()
    scorer.engine.logits([pairs[i][0] for i in few], [pairs[i][1] for i in few])
    chosen.update(token_budget=scorer.engine.grid.token_budget, threads=scorer.engine.threads)
    return one_pass


def run_here(scorer: Any, rows: str, out: Path, **options: Any) -> Any:
    """The outcome of ``scorer run`` with a scorer that is open, and stays so. ``options``: of ``RunOptions``."""
    from scorer.run.driver import run
    from scorer.run.executors import Job, RunOptions
    from scorer.run.inline import Inline

    job, reporter = Job(scorer.settings, RunOptions((rows,), out, **options)), Silent()
    opened = mock.patch("scorer.run.shard_scorer.OpenScorer", lambda *given: scorer)
    with opened, mock.patch.object(scorer, "close", lambda: None):
        return run(Inline(job, reporter), reporter)


def _counted(engine: Engine, work: EncodedPairs) -> Spec:
    return {
        "calls": len(work.batches),
        "shapes": len({(batch.rows, batch.tokens) for batch in work.batches}),
        "padding": round(1 - work.real_tokens / work.padded_tokens, 4),
        "token_budget": engine.grid.token_budget,
        "layout": engine.use.layout,
        "attention": engine.use.attention,
        "threads": engine.threads,
    }
