"""A natural sentence with two of its names or words in each other's place, and changes that leave its meaning."""

from __future__ import annotations

import random
import re

from training.general.rows import find_once
from training.general.values import Sides, sentence_case

_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:of |the |de |von |van )*[A-Z][\w'’-]*)*|\b\d{2,4}\b")
_WORD = re.compile(r"\b[a-z]{3,}?(al|ic|ous|ive|ion|er|ed|ing|ly|est|ist|an)\b")
_LIST = re.compile(r"(?:\s|,|and\b|or\b|&|/|the\b)*")
_FRONTED = re.compile(r"(?P<front>(?:In|On|At|After|During|Before|Since) [^,.;]{3,40}), (?P<rest>[^.;]+)\.?")
_CONJUNCTS = re.compile(r"(?P<one>[A-Z][\w'’-]+) and (?P<two>[A-Z][\w'’-]+)(?=[ .,;])")
Span = tuple[int, int]


def rearranged(sentence: str, agree: bool, rng: random.Random) -> Sides | None:
    """The sentence, or the one with two spans exchanged, against the same or the other of the two.

    None where nothing can be exchanged. Both sides may have what changes nothing: the parts of a list exchanged, a
    beginning put last.
    """
    spans = names(sentence) if rng.random() < 0.7 else _alike(sentence)
    places = [(a, b) for i, a in enumerate(spans) for b in spans[i + 1 :] if _exchangeable(sentence, a, b)]
    if not places:
        return None
    (start, end), (begin, stop) = rng.choice(places)
    other = sentence[:start] + sentence[begin:stop] + sentence[end:begin] + sentence[start:end] + sentence[stop:]
    both = (sentence_case(sentence), sentence_case(other))
    one = rng.randrange(2)
    return _recast(both[one], rng), _recast(both[one if agree else 1 - one], rng)


def names(sentence: str) -> list[Span]:
    """Names and numbers that stand once in a sentence; not the capital letter of its first word alone."""
    found = []
    for match in _NAME.finditer(sentence):
        text = match.group()
        if (match.start() > 0 or " " in text) and len(text) > 1 and find_once(sentence, text) >= 0:
            found.append(match.span())
    return found


def _alike(sentence: str) -> list[Span]:
    """Words that stand once and share their ending, hence mostly their part of speech, with another."""
    by_ending: dict[str, list[Span]] = {}
    for match in _WORD.finditer(sentence):
        if find_once(sentence, match.group()) >= 0:
            by_ending.setdefault(match.group(1), []).append(match.span())
    return [span for spans in by_ending.values() if len(spans) > 1 for span in spans[:2]]


def _exchangeable(sentence: str, one: Span, other: Span) -> bool:
    """Whether two spans, of one kind and the first before the second, are no neighbours in a list."""
    a, b, between = sentence[slice(*one)], sentence[slice(*other)], sentence[one[1] : other[0]]
    if one[1] > other[0] or a[0].isdigit() != b[0].isdigit() or a[0].islower() != b[0].islower():
        return False
    if a[0].islower() and a[-2:] != b[-2:]:
        return False
    return len(between) > 3 and _LIST.fullmatch(_NAME.sub("", between)) is None


def _recast(sentence: str, rng: random.Random) -> str:
    """The sentence with changes that leave its meaning."""
    found = _FRONTED.fullmatch(sentence)
    if found and rng.random() < 0.5:
        front = found["front"][0].lower() + found["front"][1:]
        sentence = f"{sentence_case(found['rest'])} {front}."
    listed = _CONJUNCTS.search(sentence)
    if listed and rng.random() < 0.5:
        sentence = sentence[: listed.start()] + f"{listed['two']} and {listed['one']}" + sentence[listed.end() :]
    return sentence if rng.random() < 0.8 else sentence.rstrip(".")
