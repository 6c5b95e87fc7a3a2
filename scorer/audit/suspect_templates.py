"""Templates that look wrong: their predicates fail in nearly all groups, by the rule of :func:`looks_wrong`."""

from __future__ import annotations

import numpy as np

from ..metric.fact_templates import Templates
from ..metric.facts import Triple
from ..metric.slots import to_text
from ..stats.intervals import wilson
from ..system.numbers import percent
from . import queries
from .database import Grouping
from .document import Finding, GroupFigures
from .scan import ScannedRun

LEAST_FACTS, LEAST_RATE, TIMES_THE_ODDS = 30, 0.2, 3.0
_FACTS_OF_GROUP, _TIMES_THE_GROUP, _GROUPS = 10, 2.0, 0.9


def looks_wrong(failed: int, facts: int, other_failed: int, other_facts: int) -> bool:
    """Whether ``failed`` of ``facts`` is far worse than ``other_failed`` of ``other_facts``: the lower end of its 95 %
    interval is at least :data:`LEAST_RATE`, and the odds there are :data:`TIMES_THE_ODDS` times the others' (with half
    a failure and half a success more), since a rate above a third cannot be three times another."""
    if facts < LEAST_FACTS or not other_facts:
        return False
    low = wilson(failed, facts)[0]
    others_odds = (other_failed + 0.5) / (other_facts - other_failed + 0.5)
    return low >= LEAST_RATE and low >= TIMES_THE_ODDS * others_odds * (1 - low)


def template_findings(
    run: ScannedRun, grouping: Grouping, all_rows: GroupFigures, templates: Templates | None
) -> list[Finding]:
    """Mark the predicates with a template that looks wrong, over all rows, and return a finding for each.

    Args:
        grouping: the predicate must fail in nearly all of its groups.
        templates: templates of the run; ``None`` where they are not known.
    """
    by_group = queries.facts(run, grouping)
    facts, omitted = int(by_group.checked.sum()), int(by_group.omitted.sum())
    suspects, reported_sentences = [], set[str]()
    for entry in all_rows.predicates:
        code, k, n = run.predicates[entry.predicate], entry.omission.count, entry.omission.n
        if not looks_wrong(k, n, omitted - k, facts - n):
            continue
        everywhere, lines = _everywhere(by_group, code) if grouping else (True, [])
        if everywhere:
            entry.suspect = True
            if entry.sentence is not None and entry.sentence in reported_sentences:  # of another predicate
                continue
            reported_sentences.add(entry.sentence or "")
            template = templates.lookup(Triple("", entry.predicate, "")) if templates is not None else None
            if template is not None and template.object is None and entry.sentence is None:  # one for all objects
                lines.append(f"template: {to_text(template.pattern)}")
            lines = [_line("omitted", k, n), _line("omitted of all other facts", omitted - k, facts - n), *lines]
            template_or_sentence = (
                f"the template of {entry.predicate!r}" if entry.sentence is None else f"the sentence {entry.sentence!r}"
            )
            text = f"{template_or_sentence} looks wrong"
            if entry.sentence is None and entry.backoff == 1:
                text = f"{entry.predicate!r} has no template, and its facts are omitted far more often than others"
            suspects.append(Finding(kind="template", severity="warn", message=text, evidence=lines))
    return suspects


def _everywhere(counts: queries.GroupFactCounts, code: int) -> tuple[bool, list[str]]:
    """Whether a predicate fails in nearly all groups, and a line with their number."""
    large = counts.checked[:, code] >= _FACTS_OF_GROUP
    checked, omitted = counts.checked[large], counts.omitted[large]
    n, k = checked[:, code], omitted[:, code]
    other_rates = (omitted.sum(axis=1) - k) / np.maximum(checked.sum(axis=1) - n, 1)
    failing = int((k / n >= np.maximum(LEAST_RATE, _TIMES_THE_GROUP * other_rates)).sum())
    return failing >= _GROUPS * len(n), [f"far above the rest in {failing} of {len(n)} groups"] if len(n) else []


def _line(title: str, count: int, n: int) -> str:
    return f"{title}: {count:,} of {n:,} ({percent(count / n)})"
