"""A weak baseline: a fact counts as expressed if its value, or a common synonym, is in the text. It finds no
hallucinations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.paper.rivals.e2e_slots import normalise
from scorer.metric.facts import Triple

_FRIENDLY = ("family friendly", "kid friendly", "kids friendly", "child friendly", "children friendly")

SYNONYMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("familyFriendly", "yes"): _FRIENDLY,
    ("familyFriendly", "no"): (*(f"{n} {word}" for n in ("not", "non", "isn't") for word in _FRIENDLY), "adult"),
    ("priceRange", "cheap"): ("low price", "low-price", "inexpensive"),
    ("priceRange", "less than £20"): ("cheap", "low price", "under £20"),
    ("priceRange", "moderate"): ("moderately", "average price", "mid-price"),
    ("priceRange", "£20-25"): ("moderate", "average price"),
    ("priceRange", "high"): ("expensive", "high price", "high-price"),
    ("priceRange", "more than £30"): ("expensive", "high price", "over £30"),
    ("customer rating", "1 out of 5"): ("low customer rating", "low rating", "1 star"),
    ("customer rating", "3 out of 5"): ("average customer rating", "average rating", "3 star"),
    ("customer rating", "5 out of 5"): ("high customer rating", "high rating", "5 star"),
    ("area", "city centre"): ("city center", "centre of the city", "center of the city", "town centre"),
    ("area", "riverside"): ("river",),
    ("eatType", "coffee shop"): ("cafe", "coffee house"),
    ("food", "Fast food"): ("fast-food",),
}
"""Synonyms of E2E values by slot and value; other values have none."""

_QUOTES = re.compile(r"^[\"']|[\"']$")


def present(triples: Sequence[Triple], text: str) -> list[bool]:
    """Whether the object of each triple is in the text. *Length:* triples."""
    found = _plain(text)
    return [any(keyword in found for keyword in _keywords(triple)) for triple in triples]


def _keywords(triple: Triple) -> list[str]:
    value = _QUOTES.sub("", triple.object.strip()).replace("_", " ")
    own = [] if triple.predicate == "familyFriendly" else [value]
    return [_plain(word) for word in (*own, *SYNONYMS.get((triple.predicate, triple.object), ()))]


def _plain(text: str) -> str:
    """Normalised, hyphens as blanks, and a blank at both ends, so that a match begins where a word begins."""
    return " " + normalise(text).replace("-", " ")
