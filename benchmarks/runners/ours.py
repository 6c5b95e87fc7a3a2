"""This project: the whole program from Parquet to Parquet, and a bare session fed with what it would compute."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .common import Probabilities, load_pairs, softmax


class _Silent:
    """A reporter that says nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def _engine_options(spec: dict[str, Any]) -> dict[str, Any]:
    options = spec["options"]
    return {
        "device": spec.get("device", "cpu"),
        "precision": options["precision"],
        "threads": spec.get("threads"),
        "token_budget": options.get("token_budget"),
    }


def bare_session(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[Probabilities, float]]:
    """The runtime alone: batches are tokenised, packed and assembled beforehand, then only run.

    What no program around the runtime can beat; the ratio to it is the program's overhead.
    """
    from scorer.inference.batches import assemble
    from scorer.inference.bundle import Bundle
    from scorer.inference.engine import Engine

    engine = Engine(Bundle.load(spec["bundle"]), **_engine_options(spec))
    pairs, _ = load_pairs(spec)
    n = len(pairs)
    texts = [premise for premise, _ in pairs] + [hypothesis for _, hypothesis in pairs]
    work = engine.prepare(texts, np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32))
    tables = (work.pairs, work.first, work.second, engine.bundle.layout)
    made = [assemble(batch, *tables) for batch in work.batches]
    session, inputs, pool = engine._session, engine._inputs, engine._pool
    feeds = [dict(zip(("input_ids", "attention_mask"), one, strict=True)) for one in made]
    feeds = [{name: feed[name] for name in inputs} for feed in feeds]

    def call(feed: dict[str, Any]) -> Any:
        return session.run(["logits"], feed)[0]

    def run() -> tuple[Probabilities, float]:
        began = time.perf_counter()
        results = list(pool.map(call, feeds)) if pool is not None else [call(feed) for feed in feeds]
        seconds = time.perf_counter() - began
        logits = np.zeros((n, 3), np.float32)
        for batch, result in zip(work.batches, results, strict=True):
            logits[batch.pairs] = result
        return softmax(logits)[work.pairs.inverse], seconds

    list(map(call, feeds[:: max(1, len(feeds) // 8)]))
    chosen.update(_shapes(engine, work))
    return run


def score_run(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[Any, float]]:
    """``scorer run`` on the sample's rows, Parquet to Parquet, loading apart: the time of reading, checks, tokens,
    inference, verdicts, writing with checksums, and receipts. Answers with the label of every row.

    The scorer is opened once and kept between passes, as the program keeps it between shards.
    """
    import pyarrow.parquet as pq

    from scorer import Scorer
    from scorer.run import RunOptions, run

    scorer = Scorer(spec["bundle"], **_engine_options(spec))
    close = scorer.engine.close
    rows = Path(spec["rows"])

    def one() -> tuple[list[str], float]:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        scorer.engine.close = lambda: None  # type: ignore[method-assign]  # a run closes it; the next pass needs it open
        began = time.perf_counter()
        try:
            outcome = run(RunOptions((str(rows),), folder / "out"), lambda budgets: scorer, _Silent())
            seconds = time.perf_counter() - began
            if outcome.exit_code:
                raise RuntimeError(outcome.reason)
            chosen["unique"] = outcome.summary["checks"]["unique"]
            return pq.read_table(folder / "out" / rows.name)["fine"].to_pylist(), seconds
        finally:
            scorer.engine.close = close  # type: ignore[method-assign]  # as it was
            shutil.rmtree(folder, ignore_errors=True)

    pairs, lengths = load_pairs(spec)
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)]
    scorer.engine.logits([pairs[i][0] for i in few], [pairs[i][1] for i in few])
    chosen.update(precision=scorer.engine.precision, threads=scorer.engine.threads)
    chosen.update(isolated=scorer.facts.isolated, bound=scorer.facts.bound)
    return one


def engine_pairs(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """The engine on pairs of strings: what peers are given, and what they answer with."""
    from scorer.inference.bundle import Bundle
    from scorer.inference.engine import Engine

    engine = Engine(Bundle.load(spec["bundle"]), **_engine_options(spec))
    pairs, lengths = load_pairs(spec)
    premises, hypotheses = ([pair[side] for pair in pairs] for side in (0, 1))
    few = np.argsort(lengths)[:: max(1, len(pairs) // 8)]
    engine.logits([premises[i] for i in few], [hypotheses[i] for i in few])
    n = len(pairs)
    work = engine.prepare([*premises, *hypotheses], np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32))
    chosen.update(_shapes(engine, work))
    return lambda: softmax(engine.logits(premises, hypotheses))


def _shapes(engine: Any, work: Any) -> dict[str, Any]:
    """Counted things: calls, shapes, padding."""
    shapes = {(len(batch.pairs), batch.sequence_length) for batch in work.batches}
    return {
        "way": "each pair by itself, side by side" if engine.single else "batches",
        "calls": len(work.batches),
        "shapes": len(shapes),
        "padding": round(1 - work.real_tokens / work.padded_tokens, 4),
        "token_budget": engine.grid.token_budget,
        "threads": engine.threads,
    }
