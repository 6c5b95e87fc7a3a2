"""A run with the real storage and the real pipeline, whose model is shown four characters of each text.

For shards whose texts are too long to be put through a model in a test. It runs as a process of its own, so that its
memory can be measured: ``python -m tests.faults.standin IN OUT BUNDLE WINDOW_BYTES`` prints the peaks in bytes, its own
and that of its children.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import msgspec

from scorer import Scorer
from scorer.commands.show.progress import make_reporter
from scorer.run.driver import run
from scorer.run.options import RunOptions
from scorer.scoring.metric_rows import MetricScoring
from scorer.scoring.settings import Settings

SHOWN = 4


class Ends:
    """A model that is shown the last characters of each text."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def prepare(self, texts: list[str], *pairs: Any) -> Any:
        return self._model.prepare([text[-SHOWN:] for text in texts], *pairs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def main(data: str, out: str, bundle: str, window_bytes: str) -> None:
    scorer = Scorer(bundle)
    scoring = MetricScoring(Settings(bundle), lambda budgets: scorer.with_model(Ends(scorer.engine)))
    options = RunOptions((data,), Path(out), max_error_rate=1.0, window_bytes=int(window_bytes))
    with make_reporter() as reporter:
        outcome = run(options, scoring, reporter)
    # Not ru_maxrss for the first: it includes that of the parent process.
    own = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    print(json.dumps({"rows": msgspec.to_builtins(outcome.summary.rows), "own": own, "children": children}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
