"""Where an entity stands in a sentence, and the sentence with both entities of its triple cut out.

An entity as data sets have it (``Foo_(bar)``, ``"Aarhus, Denmark"@en``, ``1982.0``, ``Pugin,_Augustus``) is looked for

1. whole, blanks and punctuation aside, so that ``Air Base`` is ``Airbase`` and ``F.C.`` is ``FC``,
2. without what it has in parentheses,
3. with its words in another order, function words between them left out or put in (``Augustus Pugin``).

Longer finds win over shorter ones that they overlap, whichever entity they belong to. Nothing shorter than that is
tried: half a name in a template would leave the other half to be said of every other subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..metric.triples import Triple
from .tokens import Token, tokens

BOOLEANS = frozenset({"yes", "no", "true", "false"})
"""Objects that a sentence does not name; their templates have no slot for it, and are kept by object."""

_LITTLE = frozenset({"of", "the", "and", "or", "in", "de", "s"})
_TYPED = re.compile(r"""(["'].*["'])(?:@[A-Za-z-]+|\^\^\S+)""", re.DOTALL)
_PARENTHESISED = re.compile(r"\([^()]*\)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "'"}
_SLOT = re.compile(r"<(?:subject|object)>")
_QUOTED_SLOT = re.compile(r"""["“”]\s?(<(?:subject|object)>)\s?([.,]?)["“”]""")


class Outcome(NamedTuple):
    """What became of a reference: a template, or the reason why there is none."""

    template: str | None
    reason: str | None


@dataclass(frozen=True)
class Entity:
    """An entity as it is looked for.

    ``keys``: of its tokens, whole and without parentheses. ``aside``: keys of names in the parentheses. ``tail``: the
    punctuation it ends with. ``exact``: so short and in capitals (``IT``, ``US``) that the same word in small letters
    is another one.
    """

    keys: tuple[tuple[str, ...], ...]
    aside: frozenset[str]
    tail: str
    exact: bool


@lru_cache(maxsize=1 << 15)
def entity(name: str) -> Entity:
    """Read an entity's name."""
    typed = _TYPED.fullmatch(name.strip())
    plain = " ".join((typed[1] if typed else name).replace("_", " ").split()).strip("\"'")
    spellings = dict.fromkeys((plain, " ".join(_PARENTHESISED.sub(" ", plain).split())))
    keys = [tuple(token.key for token in tokens(spelling)) for spelling in spellings]
    aside = [word.key for part in _PARENTHESISED.findall(plain) for word in tokens(part) if part[word.start].isupper()]
    return Entity(
        tuple(dict.fromkeys(found for found in keys if found)),
        frozenset(key for key in aside if len(key) > 1),
        plain[len(plain.rstrip(".!?")) :],
        plain.isupper() and len(plain) <= 3,
    )


def delexicalise(triple: Triple, text: str) -> Outcome:
    """Cut subject and object out of a sentence that says the triple and nothing else.

    Each must be found exactly once. Of an object that is one of :data:`BOOLEANS`, nothing is looked for. What a
    template begins and ends with stays as the reference has it; a full stop is added where it ends without any.

    Returns a template of the form :mod:`scorer.metric.templates` fills, or one of the reasons ``slot_in_text``,
    ``same_entity``, ``neither``, ``no_subject``, ``no_object``, ``subject_twice``, ``object_twice``, ``name_left``
    (``Foo_(Bar)`` was found as ``Foo``, with ``Bar`` elsewhere in the sentence).
    """
    text = " ".join(text.split())
    if _SLOT.search(text):
        return Outcome(None, "slot_in_text")
    subject, value = entity(triple.subject), entity(triple.object)
    wanted = {"subject": subject} if is_boolean(triple.object) else {"subject": subject, "object": value}
    if len(wanted) == 2 and set(subject.keys) & set(value.keys):
        return Outcome(None, "same_entity")
    spans = _spans(wanted, text)
    found = Counter(slot for slot, _, _ in spans)
    absent = [slot for slot in wanted if not found[slot]]
    if absent:
        return Outcome(None, "neither" if len(absent) == 2 else f"no_{absent[0]}")
    twice = [slot for slot in wanted if found[slot] > 1]
    if twice:
        return Outcome(None, f"{twice[0]}_twice")
    literals, slots, position = [], [], 0
    for slot, start, end in sorted(spans, key=lambda span: span[1]):
        literals.append(text[position:start])
        slots.append(f"<{slot}>")
        position = end
    literals.append(text[position:])
    aside = frozenset().union(*(sought.aside for sought in wanted.values()))
    if aside and any(word.key in aside for literal in literals for word in tokens(literal)):
        return Outcome(None, "name_left")
    template = "".join(literal + slot for literal, slot in zip(literals, [*slots, ""], strict=True))
    template = _QUOTED_SLOT.sub(r"\1\2", template)  # quotes that hold a blank or the full stop as well
    if template.endswith("..") and not template.endswith("..."):
        template = template[:-1]
    return Outcome(template if template.endswith((".", "!", "?")) else template + ".", None)


def is_boolean(value: str) -> bool:
    """Whether an object is a yes or no."""
    return value.strip("\"' ").casefold() in BOOLEANS


def _spans(wanted: dict[str, Entity], text: str) -> list[tuple[str, int, int]]:
    """(slot, start, end) in code points of the finds that no longer one overlaps."""
    words = tokens(text)
    candidates = []
    for slot, sought in wanted.items():
        for first, last in _finds(sought, words):
            span = text[words[first].start : words[last].end]
            if not sought.exact or span.isupper():
                candidates.append((slot, first, last))
    candidates.sort(key=lambda find: (words[find[1]].start - words[find[2]].end, find[1]))
    taken: set[int] = set()
    spans = []
    for slot, first, last in candidates:
        covered = range(first, last + 1)
        if taken.isdisjoint(covered):
            taken.update(covered)
            spans.append((slot, *_widened(text, words[first].start, words[last].end, wanted[slot].tail)))
    return spans


def _finds(sought: Entity, words: list[Token]) -> Iterator[tuple[int, int]]:
    """First and last token of every find, each once or more often."""
    for keys in sought.keys:
        yield from _runs("".join(keys), words)
        content = Counter(key for key in keys if key not in _LITTLE)
        if content.total() > 1:
            yield from _reordered(content, words)


def _runs(target: str, words: list[Token]) -> Iterator[tuple[int, int]]:
    """Runs of tokens that spell the target when written together."""
    for first in range(len(words)):
        length = 0
        for last in range(first, len(words)):
            key = words[last].key
            if not target.startswith(key, length):
                break
            length += len(key)
            if length == len(target):
                yield first, last
                break


def _reordered(content: Counter[str], words: list[Token]) -> Iterator[tuple[int, int]]:
    """Runs of tokens that hold the content words in any order, with nothing but little words between them."""
    total = content.total()
    for first in range(len(words)):
        left, seen = Counter(content), 0
        for last in range(first, len(words)):
            key = words[last].key
            if left[key] > 0:
                left[key] -= 1
                seen += 1
            elif key not in _LITTLE or last == first:
                break
            if seen == total:
                yield first, last
                break


def _widened(text: str, start: int, end: int, tail: str) -> tuple[int, int]:
    """A find with the punctuation that belongs to it: the entity's own end, its brackets, quotes around it."""
    if tail and text.startswith(tail, end):
        end += len(tail)
    inside = text[start:end]
    if inside.count("(") > inside.count(")") and text.startswith(")", end):
        end += 1
    elif inside.count(")") > inside.count("(") and text[start - 1 : start] == "(":
        start -= 1
    while start and end < len(text) and _QUOTES.get(text[start - 1]) == text[end]:
        start, end = start - 1, end + 1
    return start, end
