"""One pair of the challenge set: a text that is right, and the same text with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from scorer.metric.facts import Triple

OK, OMISSION, HALLUCINATION, NOT_OK = "OK", "omission", "hallucination", "not_OK"


@dataclass(frozen=True)
class Case:
    """``base``: says all and only the facts. ``edited``: the changed text. ``expected``: what a metric should say of
    it: ``OK``, ``omission`` or ``hallucination`` (at least that side), or ``not_OK`` (either side). ``fact``: the
    position of the fact that the change is about; ``None`` where it is about none or several."""

    kind: str
    domain: str
    triples: tuple[Triple, ...]
    base: str
    edited: str
    expected: str
    fact: int | None = None


class Pair(NamedTuple):
    """What a kind of change makes: a :class:`Case` without what all cases of the kind share."""

    domain: str
    triples: Sequence[Triple]
    base: str
    edited: str
    fact: int | None = None


class Kind(NamedTuple):
    """``about``: what is changed, for people. ``make``: a pair, from the number of those made before; ``None`` where
    what it drew offers no place for the change."""

    name: str
    about: str
    expected: str
    make: Callable[[int, Random], Pair | None]
