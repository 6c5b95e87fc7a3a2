"""A run with the real storage and the real pipeline, and a model that looks at three characters.

For shards whose texts are too long to be put through a model in a test. It runs as a process of its own, so that its
memory can be measured: ``python -m tests.faults.standin IN OUT BUNDLE WINDOW_BYTES`` prints the peaks in bytes, its own
and that of its children.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from scorer import Scorer
from scorer.commands.show.progress import make_reporter
from scorer.inference.batches import Batch, distinct_pairs
from scorer.inference.engine import Answers, Work
from scorer.inference.texts import Tokens
from scorer.run.driver import run
from scorer.run.options import RunOptions
from scorer.scoring.metric_rows import MetricScoring
from scorer.scoring.plan import Budgets
from scorer.scoring.settings import Settings

LOOKED_AT = 3


class Standin:
    """Entailed when premise and hypothesis have the same end."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}

    def prepare(self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]) -> Work:
        tokens = Tokens(np.zeros(len(texts), np.int32), np.arange(len(texts) + 1), np.zeros(len(texts), bool))
        pairs = distinct_pairs(premise, hypothesis, tokens, tokens)
        n = len(pairs)
        work = Work(
            pairs, tokens, tokens, np.zeros(n, np.int8), np.zeros(n, bool), [Batch(np.arange(n), 8)], np.full(n, 6)
        )
        self._texts[id(work)] = [text[-LOOKED_AT:] for text in texts]
        return work

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        ends = self._texts.pop(id(work))
        pairs = zip(work.pairs.first.tolist(), work.pairs.second.tolist(), strict=True)
        entailed = np.array([ends[premise] == ends[hypothesis] for premise, hypothesis in pairs], bool)
        probabilities = np.where(entailed[:, None], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]).astype(np.float32)
        inverse = work.pairs.inverse
        return Answers(probabilities[inverse], work.status[inverse], work.truncated[inverse])

    def give_up(self) -> None:
        """Nothing here takes long."""


def main(data: str, out: str, bundle: str, window_bytes: str) -> None:
    def opener(budgets: Budgets) -> Scorer:
        return Scorer(bundle).with_model(Standin())

    options = RunOptions((data,), Path(out), max_error_rate=1.0, window_bytes=int(window_bytes))
    with make_reporter() as reporter:
        outcome = run(options, MetricScoring(Settings(bundle), opener), reporter)
    # Not ru_maxrss for the first: it includes that of the parent process.
    own = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    print(json.dumps({"rows": msgspec.to_builtins(outcome.summary.rows), "own": own, "children": children}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
