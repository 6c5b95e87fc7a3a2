"""The slots of templates: templates that lack one express less than the triple they are filled with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .templates import Pattern, Templates, written

Key = tuple[str, str | None]
"""A template of the file: its predicate, and in a per-object map the object."""


@dataclass(frozen=True)
class IncompleteTemplate:
    """A template that lacks ``slots``."""

    key: Key
    template: str
    slots: tuple[str, ...]


def load_templates(path: str | Path, warn: Callable[[str], None]) -> Templates:
    """Read a template file; ``warn`` is called with one line if templates lack a slot.

    Raises:
        TemplateError: as :meth:`Templates.load`.
    """
    found = Templates.load(path)
    message = slot_warning(found, f"template file {path}")
    if message is not None:
        warn(message)
    return found


def all_templates(templates: Templates) -> Iterator[tuple[Key, Pattern]]:
    """Every template of the file."""
    for predicate, pattern in templates.plain.items():
        yield (predicate, None), pattern
    for predicate, choices in templates.by_object.items():
        for value, pattern in choices.items():
            yield (predicate, value), pattern


def without_slot(templates: Templates) -> list[IncompleteTemplate]:
    """Templates that lack a slot: the subject's in any, the object's in those that are not for one object."""
    found = []
    for (predicate, value), pattern in all_templates(templates):
        slots = ("subject",) if value is not None else ("subject", "object")
        absent = tuple(slot for slot in slots if slot not in pattern[1::2])
        if absent:
            found.append(IncompleteTemplate((predicate, value), written(pattern), absent))
    return found


def slot_warning(templates: Templates, where: str) -> str | None:
    """One line about the templates of ``where`` that lack a slot; ``None`` if there are none."""
    found = without_slot(templates)
    if not found:
        return None
    first = found[0]
    predicate, value = first.key
    name = f"{predicate!r}" + (f", object {value!r}," if value is not None else "")
    slots = " and ".join(f"<{slot}>" for slot in first.slots)
    parts = " and ".join(first.slots)
    shown = first.template if len(first.template) <= 80 else f"{first.template[:77]}..."
    more = "" if len(found) == 1 else f" ({len(found):,} templates of the file lack a slot)"
    return f"{where}: the template of {name} has no {slots}, so its facts do not name the {parts}: {shown!r}{more}"
