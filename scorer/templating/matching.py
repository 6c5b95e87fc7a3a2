"""Find an entity in a sentence, and replace both entities of a triple by slots.

An entity in the notation of data sets (``Foo_(bar)``, ``"Aarhus, Denmark"@en``, ``1982.0``, ``Pugin,_Augustus``) is
searched for

1. as a whole, ignoring blanks and punctuation, so that ``Air Base`` matches ``Airbase`` and ``F.C.`` matches ``FC``,
2. without its parentheses,
3. with its words in another order, with more or fewer function words between them (``Augustus Pugin``).

Of overlapping matches the longest is used, whichever entity it belongs to. Parts of a name are not searched for: the
rest of the name would stay in the template, and be said of every other subject.
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
"""Objects that a sentence does not name: their templates have no slot for the object, and are kept by object."""

_LITTLE = frozenset({"of", "the", "and", "or", "in", "de", "s"})
_TYPED = re.compile(r"""(["'].*["'])(?:@[A-Za-z-]+|\^\^\S+)""", re.DOTALL)
_PARENTHESISED = re.compile(r"\([^()]*\)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "'"}
_SLOT = re.compile(r"<(?:subject|object)>")
_QUOTED_SLOT = re.compile(r"""["“”]\s?(<(?:subject|object)>)\s?([.,]?)["“”]""")


class Outcome(NamedTuple):
    """The result for a reference: a template, or the reason why there is none."""

    template: str | None
    reason: str | None


@dataclass(frozen=True)
class Entity:
    """An entity, prepared for the search.

    ``keys``: keys of its tokens, with and without parentheses. ``aside``: keys of names in the parentheses. ``tail``:
    the punctuation at its end. ``exact``: whether case matters, since the entity is short and in capitals (``IT``,
    ``US``).
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
    """Replace subject and object by slots in a sentence that expresses the triple and nothing else.

    Each must be found exactly once. An object that is one of :data:`BOOLEANS` is not searched for. The beginning and
    the end of the template stay as in the reference; a full stop is added if it ends without punctuation.

    Returns a template in the form that :mod:`scorer.metric.templates` fills, or one of the reasons ``slot_in_text``,
    ``same_entity``, ``neither``, ``no_subject``, ``no_object``, ``subject_twice``, ``object_twice``, ``name_left``
    (``Foo_(Bar)`` was found as ``Foo``, and ``Bar`` is elsewhere in the sentence).
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
    """(slot, start, end) in code points of the matches, without those that a longer match overlaps."""
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
    """First and last token of every match; a match may occur more than once."""
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
    """Runs of tokens that have the content words in any order, with only function words between them."""
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
    """A match extended by the punctuation that belongs to it: the entity's own end, its brackets, quotes around it."""
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
