"""The template file behind an output, if it is still to be had as it was, and how each template fared."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import TemplateError
from ..metric.templates import Pattern, Templates
from ..scoring.outputs import Output
from ..stats.intervals import rate
from .document import TemplateFigures
from .scan import Night

BACKOFF = "The {} of <subject> is <object>."
MOST = 1000


def templates_of(output: Output) -> tuple[Templates, Path | None] | None:
    """The templates that an output was scored with, and their file; ``None`` when they are not found unchanged.

    Tried: the file that the plan names, else the bundle's own. What is found counts only when its digest is that in
    the signature.
    """
    digest = str(output.full_signature.parts.get("templates", ""))
    if digest == "none":
        return Templates(), None
    given, bundle = output.settings.get("templates"), output.settings.get("bundle")
    if isinstance(given, str):
        path = Path(given)
    elif bundle == "embedded":
        path = Path(str(resources.files("scorer"))) / "embedded" / "bundle" / "templates.json"
    elif isinstance(bundle, str):
        path = Path(bundle) / "templates.json"
    else:
        return None
    try:
        found = Templates.load(path)
    except TemplateError:
        return None
    return (found, path) if found.is_identified_by(digest) else None


def by_object(templates: Templates, predicate: str) -> bool:
    """Whether a predicate has a template for each object, and none for all."""
    name = predicate if predicate in templates.by_object else templates.canonical(predicate)
    return name in templates.by_object and predicate not in templates.plain and name not in templates.plain


def template_figures(night: Night, templates: Templates) -> list[TemplateFigures]:
    """Each template that was used, by falling omission rate, at most :data:`MOST`."""
    counts = night.fact_counts[()]
    names = night.predicates.names
    checked, omitted = (counts.table(which, 1, len(names))[0].tolist() for which in ("checked", "omitted"))
    merged: dict[tuple[str, str | None, str, bool], list[int]] = {}

    def add(key: tuple[str, str | None, str, bool], facts: int, lost: int) -> None:
        entry = merged.setdefault(key, [0, 0])
        entry[0] += facts
        entry[1] += lost

    for name, facts, lost in zip(names, checked, omitted, strict=True):
        if facts and not by_object(templates, name):
            add(_plain(templates, name), facts, lost)
    for (name, value), (facts, lost) in night.object_counts.items():
        add(_for_object(templates, name, value), facts, lost)
    figures = [
        TemplateFigures(
            predicate=name, object=value, template=text, backoff=backoff, omission=rate(lost, facts), suspect=False
        )
        for (name, value, text, backoff), (facts, lost) in merged.items()
    ]
    figures.sort(
        key=lambda f: (-(f["omission"]["value"] or 0.0), -f["omission"]["n"], f["predicate"], f["object"] or "")
    )
    return figures[:MOST]


def _plain(templates: Templates, name: str) -> tuple[str, str | None, str, bool]:
    pattern = templates.plain.get(name) or templates.plain.get(templates.canonical(name))
    return (name, None, _text(pattern), False) if pattern else (name, None, BACKOFF.format(name), True)


def _for_object(templates: Templates, name: str, value: str) -> tuple[str, str | None, str, bool]:
    choices = templates.by_object.get(name) or templates.by_object[templates.canonical(name)]
    plain = value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] in "\"'" else value
    pattern: Any = choices.get(value) or choices.get(plain)
    return (name, plain, _text(pattern), False) if pattern else (name, None, BACKOFF.format(name), True)


def _text(pattern: Pattern) -> str:
    return "".join(f"<{part}>" if place % 2 else part for place, part in enumerate(pattern))
