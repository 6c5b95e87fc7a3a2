"""The figures of each template of an output, and templates that look wrong.

A template looks wrong where its predicate's facts facts fail far more often
than all others, and in every group.

The rule of :mod:`scorer.stats.failing` decides whether a predicate's facts are omitted far more often than all other
facts. It must also hold across groups: of the groups (of the first grouping) with at least 10 of its facts, at least
nine in ten have an omission rate of at least 0.2 and at least twice that of the group's other facts. A slot that one
system leaves out is a fault of that system; a template that states the fact wrongly fails for all of them.

Where a predicate has a template for each object, each template is tested by the rule alone.
"""

from __future__ import annotations

from ..metric.facts import Triple
from ..metric.templates import Templates
from ..stats.failing import LEAST_RATE, looks_wrong
from ..stats.intervals import rate
from ..stats.percentages import percent
from . import queries
from .document import Callout, Group, GroupFigures, TemplateFigures
from .grouping import Grouping
from .scan import ScannedRun

MOST = 1000
LEAST_FACTS_OF_GROUP = 10
TIMES_THE_REST_OF_GROUP = 2.0
SHARE_OF_GROUPS = 0.9
MOST_EVIDENCE = 6
LEAST_FACTS_THAT_ALL_FAIL = 5
"""A predicate all of whose facts fail is named from so many on."""


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


def call_out(
    run: ScannedRun, grouping: Grouping, groups: list[Group], figures: GroupFigures, templates: list[TemplateFigures]
) -> list[Callout]:
    """Mark the failing templates in ``figures`` (all rows) and ``templates``, and return a callout for each."""
    counts = queries.facts(run, ())
    checked, omitted = counts.checked[0].tolist(), counts.omitted[0].tolist()
    facts, lost = sum(checked), sum(omitted)
    texts: dict[str, list[TemplateFigures]] = {}
    for one in templates:
        texts.setdefault(one.predicate, []).append(one)
    found = []
    for entry in figures.predicates:
        code = run.predicates.code(entry.predicate)
        n, k = checked[code], omitted[code]
        evidence = [_line("omitted", k, n), _line("omitted of all other facts", lost - k, facts - n)]
        if looks_wrong(k, n, lost - k, facts - n):
            everywhere, lines = _everywhere(run, grouping, groups, code)
            if everywhere:
                entry.suspect = True
                used = texts.get(entry.predicate, [])
                for one in used:
                    one.suspect = one.omission.n > 0 and (one.omission.value or 0.0) >= LEAST_RATE
                shown = [f"template: {one.template}" for one in used[:3]]
                found.append(
                    _looks_wrong(f"the template of {entry.predicate!r} looks wrong", [*evidence, *lines, *shown])
                )
                continue
        for one in texts.get(entry.predicate, []):
            k, n = one.omission.count, one.omission.n
            if one.object is not None and looks_wrong(k, n, lost - k, facts - n):
                one.suspect = True
                message = f"the template of {one.predicate!r} for {one.object!r} looks wrong"
                lines = [_line("omitted", k, n), _line("omitted of all other facts", lost - k, facts - n)]
                found.append(_looks_wrong(message, [*lines, f"template: {one.template}"]))
    return [*found, *_few(figures, facts, lost)]


def _few(figures: GroupFigures, facts: int, lost: int) -> list[Callout]:
    """Predicates of which all facts fail, and which have too few of them for the rule above."""
    chosen = [
        one
        for one in figures.predicates
        if not one.suspect and one.omission.count == one.omission.n >= LEAST_FACTS_THAT_ALL_FAIL
    ]
    count = sum(one.omission.n for one in chosen)
    if not chosen or count == facts or lost == facts:
        return []
    predicates = "1 predicate fails" if len(chosen) == 1 else f"{len(chosen):,} predicates fail"
    lines = [_line(one.predicate, one.omission.count, one.omission.n) for one in chosen[:MOST_EVIDENCE]]
    return [_looks_wrong(f"{predicates} in {count:,} of {count:,} facts; too few to judge", lines)]


def _everywhere(run: ScannedRun, grouping: Grouping, groups: list[Group], code: int) -> tuple[bool, list[str]]:
    """Whether it holds across groups, and the evidence of each group."""
    if not grouping:
        return True, []
    _, checked, omitted = queries.facts(run, grouping)
    facts, lost = checked.sum(axis=1).tolist(), omitted.sum(axis=1).tolist()
    failing, lines = 0, []
    asked = [g for g in range(len(groups)) if checked[g, code] >= LEAST_FACTS_OF_GROUP]
    for g in asked:
        n, k = int(checked[g, code]), int(omitted[g, code])
        rest = (lost[g] - k) / max(facts[g] - n, 1)
        failing += k / n >= max(LEAST_RATE, TIMES_THE_REST_OF_GROUP * rest)
        name = ", ".join(f"{column}={value}" for column, value in groups[g].items())
        lines.append(_line(f"in {name}", k, n))
    if not asked:
        return True, []
    shown = lines[:MOST_EVIDENCE] + (
        [f"and {len(lines) - MOST_EVIDENCE} more groups"] if len(lines) > MOST_EVIDENCE else []
    )
    return failing >= SHARE_OF_GROUPS * len(asked), [f"far above the rest in {failing} of {len(asked)} groups", *shown]


def _looks_wrong(message: str, evidence: list[str]) -> Callout:
    return Callout(kind="template", severity="warn", message=message, evidence=evidence)


def _line(what: str, count: int, n: int) -> str:
    return f"{what}: {count:,} of {n:,} ({percent(count / n)})" if n else f"{what}: no fact"
