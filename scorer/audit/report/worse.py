"""What got worse since the baseline: the old label and text next to the new ones."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import Document, WorseRow
from . import numbers
from .cases import colour_of
from .labels import group_inline
from .limits import Limits, clip, clip_plain, first
from .views import GroupInLine, Text

_WHY = {"flipped": "same row, another label", "rewritten": "new text for the same facts", "new": "new row"}


@dataclass(frozen=True)
class WorseCase:
    """A row. ``before``: its label in the baseline; ``text_before``: its text there, where that is another one."""

    why: str
    before: Text | None
    kind: Text
    colour: str
    where: Text
    group: GroupInLine | None
    text_before: Text | None
    text: Text | None
    omitted: tuple[Text, ...]
    omitted_left_out: str


@dataclass(frozen=True)
class WorseRows:
    """How many rows, and some of them to read."""

    said: str
    out: str
    cases: tuple[WorseCase, ...]
    left_out: int


def said(document: Document) -> str | None:
    """How many rows got worse, as a sentence; ``None`` where none did, or without a baseline."""
    worse = document["worse"]
    if worse is None or not worse["flipped"] + worse["added_failing"]:
        return None
    kept, added = numbers.plural(worse["flipped"], "kept row"), numbers.plural(worse["added_failing"], "added row")
    return f"{kept} went from OK to not OK. {added} {'is' if worse['added_failing'] == 1 else 'are'} not OK."


def worse_rows(document: Document, limits: Limits) -> WorseRows | None:
    """The section's content, or ``None`` where nothing got worse."""
    sentence, worse = said(document), document["worse"]
    if sentence is None or worse is None:
        return None
    rows, rest = first(worse["rows"], limits.cases)
    return WorseRows(
        sentence, clip_plain(document["out"], limits.name), tuple(_case(row, limits) for row in rows), rest
    )


def _case(row: WorseRow, limits: Limits) -> WorseCase:
    now, text = row["now"], row["now"]["text"]
    lost = [fact["sentence"] or fact["predicate"] for fact in now["facts"] or () if fact["omitted"]]
    kept, rest = first(lost, limits.facts)
    other = row["text_before"] if row["text_before"] != text else None
    return WorseCase(
        why=_WHY.get(row["why"], ""),
        before=clip(row["before"], limits.name) if row["before"] else None,
        kind=clip(now["kind"], limits.name),
        colour=colour_of(now["kind"]),
        where=clip(f"{clip_plain(now['file'], limits.name)}:{now['row']}", limits.name + 20),
        group=group_inline(now["group"], limits) if now["group"] else None,
        text_before=clip(other, limits.text) if other and other.strip() else None,
        text=clip(text, limits.text) if text and text.strip() else None,
        omitted=tuple(clip(fact, limits.name) for fact in kept),
        omitted_left_out=numbers.plural(rest, "more fact") if rest else "",
    )
