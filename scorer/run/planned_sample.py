"""The facts of a sample of rows, as the preview of a run shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from ..metric.checks import HALLUCINATION, build_checks
from ..metric.joining import SentenceUses
from ..scoring.opening import load_metric
from ..scoring.pipeline import count_facts
from ..scoring.settings import Settings
from ..storage.receipts import FactCounts
from .executors import Inspected
from .inspection import parse_start

SAMPLE_ROWS = 1024
"""Rows of the sample of each of a few shards."""
Show = Callable[[str], None]


def read_sample(settings: Settings, inspected: Inspected, show: Show, say: Show) -> dict[str, Any]:
    """Facts, checks and errors of the first rows of a few shards, as fields of :class:`.PlannedRun`; opens no model.

    Args:
        settings: settings of the scorer.
        inspected: the inputs.
        show: called with each line for the user, as soon as it is known.
        say: called with each warning about the templates.
    """
    templates, options = load_metric(settings, say)
    rows = check_count = pairs = 0
    facts, errors, first_facts, first_text = FactCounts(), Counter[str](), list[str](), None
    uses = SentenceUses(templates, options.optional)
    for window in chain.from_iterable(parse_start(shard, settings, SAMPLE_ROWS) for shard in inspected.sample):
        window = uses.join(window)
        checks = build_checks(window, templates, options)
        if not first_facts and len(window.triples.ids):
            row = int(np.flatnonzero(np.diff(window.triples.offsets))[0])
            start, end = window.triples.offsets[row : row + 2]
            first_facts = [checks.texts[checks.facts[i]] for i in window.triples.ids[start:end]]
            for line in ["facts of the first row:", *(f"  {fact}" for fact in first_facts)]:
                show(line)
            if options.reading == "plain" and row in checks.row:
                first_text = checks.texts[checks.hypothesis[(checks.row == row) & (checks.kind == HALLUCINATION)][0]]
                show(f"text of the first row, as it is read: {first_text}")
        rows, check_count = rows + len(window), check_count + len(checks.row)
        pairs += len(np.unique(np.stack([checks.premise, checks.hypothesis]), axis=1).T)
        facts = FactCounts.total([facts, count_facts(window.triples, checks.backoff)])
        errors.update(error.kind for error in window.errors.values())
    backoff = f", {facts.backoff / facts.all:.1%} of them by backoff (no template)" if facts.all else ""
    show(f"sample of {rows:,} rows: {facts.all:,} facts{backoff}; {check_count:,} checks, {pairs:,} distinct pairs")
    for line in uses.lines():
        show(f"  {line}")
    if facts.skipped:
        show(f"  attributes without a value: {facts.skipped:,}")
    for kind, number in errors.items():
        show(f"  {kind}: {number:,} rows")
    return {
        "sampled_rows": rows, "first_facts": first_facts, "first_text": first_text, "facts": facts,
        "checks": check_count, "pairs": pairs, "errors": dict(errors), "sentences": uses.report(),
    }  # fmt: skip
