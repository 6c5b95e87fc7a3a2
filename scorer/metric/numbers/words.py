"""Number words of English to values: ``twelve``, ``twenty-five``, ``two hundred and six``, ``nineteen fifty-four``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import terms

SCALES = {"hundred": 100, **terms.SCALES}
_DOZEN = {"dozen": 12}
_ANY = f"(?ai:{'|'.join(sorted([*terms.NUMBER_WORDS, *SCALES, *_DOZEN], key=len, reverse=True))})"
WORDS = re.compile(rf"(?i)(?<![\w-])(?:an?\s)?{_ANY}(?:(?:[\s-]|\sand\s){_ANY})*(?!\w)")
"""Number words that stand together; :func:`value_of` reads them."""
_ONE = re.compile(_ANY)


def value_of(text: str) -> int | None:
    """What a match of :data:`WORDS` says; ``None`` where its words are several numbers (``one two``)."""
    words = [word.lower() for word in _ONE.findall(text)]
    return _year(words) if _year(words) is not None else _sum(words)


def _sum(words: Sequence[str]) -> int | None:
    """Words that stand in the order of a number: smaller ones are added, scales multiply what stands before."""
    total, group, last = 0, 0, 10**15
    fresh = True
    for word in words:
        scale = SCALES.get(word) or _DOZEN.get(word)
        if scale is None:
            value = terms.NUMBER_WORDS[word]
            room = 10 if last in range(20, 100) else 100 if fresh or last >= 100 else 0
            if value >= room or (not value and not fresh):
                return None
            group, last = group + value, value
        elif scale in (100, 12):
            if group >= 100:
                return None
            group, last = max(group, 1) * scale, 100
        else:
            total, group, last = total + max(group, 1) * scale, 0, scale
        fresh = False
    return total + group


def _year(words: Sequence[str]) -> int | None:
    """``nineteen fifty-four`` and ``twenty twenty``: two numbers below 100, the first of one word and at least 10."""
    if len(words) not in (2, 3) or not all(word in terms.NUMBER_WORDS for word in words):
        return None
    first, *rest = (terms.NUMBER_WORDS[word] for word in words)
    tens = rest[0] >= 10 and (len(rest) == 1 or (rest[0] >= 20 and 0 < rest[1] < 10))
    return first * 100 + sum(rest) if first >= 10 and tens else None
