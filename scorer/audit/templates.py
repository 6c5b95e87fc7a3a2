"""The templates of an output, and the figures of each."""

from __future__ import annotations

from pathlib import Path

from ..metric.templates import Templates
from ..metric.triples import Triple
from ..scoring.output_templates import find_templates
from ..scoring.outputs import Output
from ..stats.intervals import rate
from . import queries
from .document import TemplateFigures
from .scan import ScannedRun

MOST = 1000


def templates_of(output: Output) -> tuple[Templates, Path | None] | None:
    """The templates that an output was scored with; see :func:`scorer.scoring.output_templates.find_templates`."""
    return find_templates(output.full_signature, output.settings)


def template_figures(run: ScannedRun, templates: Templates) -> list[TemplateFigures]:
    """Each template that was used, by falling omission rate, at most :data:`MOST`."""
    counts, names = queries.facts(run, ()), run.predicates.names
    checked, omitted = counts.checked[0].tolist(), counts.omitted[0].tolist()
    merged: dict[tuple[str, str | None, str, bool], list[int]] = {}

    def add(predicate: str, value: str, facts: int, lost: int) -> None:
        used = templates.lookup(Triple("", predicate, value))
        key = predicate, None if used.backoff else used.object, used.text, used.backoff
        entry = merged.setdefault(key, [0, 0])
        entry[0] += facts
        entry[1] += lost

    for name, facts, lost in zip(names, checked, omitted, strict=True):
        if facts and not templates.depends_on_object(name):
            add(name, "", facts, lost)
    for code, value, facts, lost in queries.objects(run):
        add(names[code], run.objects.names[value], facts, lost)
    figures = [
        TemplateFigures(
            predicate=name, object=value, template=text, backoff=backoff, omission=rate(lost, facts), suspect=False
        )
        for (name, value, text, backoff), (facts, lost) in merged.items()
    ]
    figures.sort(key=lambda f: (-(f.omission.value or 0.0), -f.omission.n, f.predicate, f.object or ""))
    return figures[:MOST]
