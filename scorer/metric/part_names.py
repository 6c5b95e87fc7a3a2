"""The names that the three parts of a triple may have in a struct, a map, an object of JSON or a dictionary."""

from __future__ import annotations

from collections.abc import Iterable

PARTS = ("subject", "predicate", "object")
_OTHERS = {"subject": ("s",), "predicate": ("p", "property"), "object": ("o",)}


def part_name(part: str, names: Iterable[object]) -> str | None:
    """The name that holds a part: ``subject``, ``predicate`` or ``object`` itself, else in another case, else ``s``,
    ``p`` (or ``property``, as in WebNLG) and ``o`` in any case.

    ``None`` where there is no such name, and where two names of the same rank differ only in case.
    """
    known = [name for name in names if isinstance(name, str)]
    if part in known:
        return part
    for wanted in (part, *_OTHERS[part]):
        found = [name for name in known if name.lower() == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def part_names(names: Iterable[object]) -> tuple[str, str, str] | None:
    """The names of subject, predicate and object; ``None`` unless all three are there, under different names."""
    known = list(names)
    found = [part_name(part, known) for part in PARTS]
    subject, predicate, value = found
    return None if subject is None or predicate is None or value is None else (subject, predicate, value)
