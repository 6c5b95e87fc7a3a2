"""Numbers with their signs, scales and units, dates and times of a text, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .dates import Date, Time, dates, times
from .units import CURRENCIES, DEGREES, Unit, unit_after
from .words import SCALES, WORDS, value_of

_LONGEST = 40
"""Characters of a number. Longer rows of digits are identifiers."""
_SAME = str.maketrans({"−": "-", "﹣": "-", "\u2011": "-", "_": " ", "’": "'", "\u2009": "\u202f", "\xa0": "\u202f"})
"""One character for another, so that positions stay."""
_ONE = Fraction(1)
_HALVES = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
_SHORT = {"k": 10**3, "K": 10**3, "M": 10**6, "bn": 10**9, "B": 10**9}
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)%.])[-+]|\b(?i:minus|negative)\s)?(?P<money>[$€£¥])?(?<!\d[.,])(?<!\d)"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d]|,\d)|\d{1,3}(?:[\u202f']\d{3})+(?:[.,]\d+)?(?!\d)"
    r"|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?![\d.])|\d+(?:\.\d+){2,}|\d+,\d{1,2}(?![\d,]|\.\d)|\d+(?:\.\d+)?)"
    r"(?P<half>[½¼¾])?|(?P<alone>[½¼¾])"
)
_SCALE = re.compile(rf"[\s\u202f-]?(?P<word>(?ai:{'|'.join(SCALES)}))(?!\w)|(?P<short>k|K|M|bn|B)(?!\w)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)")
_BELOW = re.compile(r"(?i)\sbelow\s(?:zero|freezing)(?!\w)")
_ABOUT = re.compile(
    r"(?i)(?:\b(?:about|around|approximately|approx\.|roughly|circa|ca\.|nearly|almost|close to|some|over|under|above"
    r"|below|more than|less than|fewer than|at least|at most|up to)\s(?:an?\s)?|[~≈<>])$"
)
_BEFORE_ABOUT = re.compile(r"(?s:\D\s|.?[~≈<>])")
_NOTHING_BEHIND = re.compile(r"[.,;:!?)]|\s\d|\Z")
"""What no scale, unit or ending follows: a text full of numbers has little else behind them."""
_MINUS = re.compile(r"(?i)\b(?:minus|negative)\s$")


class Number(NamedTuple):
    """A number. ``step``: what its last digit stands for. ``rounded``: whether it is written with a scale
    (``1.2 million``). ``part``: whether it stands in a name such as ``F-16``, or is only part of a date. ``ordinal``:
    whether it is one, as ``3rd``. ``about``: whether the text says that it is not exact, as in ``over 38 %``."""

    start: int
    end: int
    value: Fraction
    step: Fraction = _ONE
    unit: Unit | None = None
    rounded: bool = False
    part: bool = False
    ordinal: bool = False
    about: bool = False


Quantity = Number | Date | Time


def quantities(text: str) -> list[Quantity]:
    """All quantities of a text, in order. Positions are those of its characters."""
    plain = text.translate(_SAME)
    found: list[Quantity] = []
    found += dates(plain)
    plain = _without(plain, found)
    found += times(plain)
    plain = _without(plain, found)
    numbers = list(_numbers(plain))
    found += numbers
    found += _in_words(_without(plain, numbers))
    return sorted(found, key=lambda one: one.start)


def _without(text: str, taken: Sequence[Quantity]) -> str:
    """The text with characters that are not part of any number in the place of what was read."""
    pieces: list[str] = []
    position = 0
    for one in sorted(taken, key=lambda one: one.start):
        pieces += [text[position : one.start], ";" * (one.end - one.start)]
        position = one.end
    return "".join([*pieces, text[position:]])


def _numbers(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        read = _value(match["digits"] or "0")
        if read is None:
            continue
        value, step = read
        if half := match["half"] or match["alone"]:
            value, step = value + _HALVES[half], Fraction(1, 4)
        start, end = match.span()
        first = match.start("digits") if match["digits"] else start
        before = text[max(start - 2, 0) : start]
        name = not (match["sign"] or match["money"]) and (
            before[-1:].isalpha() or (before[-1:] == "-" and before[:1].isalpha())
        )
        unit = CURRENCIES[match["money"]] if match["money"] else None
        yield _finished(text, start, end, value, step, unit, name and first == start, (match["sign"] or "+") != "+")


def _finished(
    text: str, start: int, end: int, value: Fraction, step: Fraction, unit: Unit | None, part: bool, negative: bool
) -> Number:
    """The number with its scale, unit and sign."""
    about = _BEFORE_ABOUT.match(text, max(start - 2, 0)) is not None
    about = about and _ABOUT.search(text, max(start - 20, 0), start) is not None
    if _NOTHING_BEHIND.match(text, end):
        return Number(start, end, -value if negative else value, step, unit, False, part, False, about)
    rounded = False
    if scale := _SCALE.match(text, end):
        factor = SCALES[scale["word"].lower()] if scale["word"] else _SHORT[scale["short"]]
        value, step, end, rounded = value * factor, step * factor, scale.end(), True
    decade = text[end : end + 1] == "s"  # 1990s
    if unit is None and not decade and (found := unit_after(text, end)):
        unit, end = found
    ordinal = _ORDINAL.match(text, end)
    end = ordinal.end() if ordinal else end
    part = part or text[end : end + 1].isalpha()
    if (below := _BELOW.match(text, end)) and (unit is DEGREES or (unit and unit.dimension == "temperature")):
        negative, end = True, below.end()
    return Number(start, end, -value if negative else value, step, unit, rounded, part, ordinal is not None, about)


def _value(digits: str) -> tuple[Fraction, Fraction] | None:
    """The value of digits with separators, and that of a one in their last place; ``None`` where it is not a number."""
    if len(digits) > _LONGEST:
        return None
    if digits.isdecimal():
        return Fraction(int(digits)), _ONE
    plain = digits.replace("\u202f", "").replace("'", "")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?", plain):
        plain = plain.replace(".", "")
    plain = plain.replace(",", ".")
    if plain.count(".") > 1:  # a version or an address
        return None
    decimals = len(plain.partition(".")[2])
    return Fraction(int(plain.replace(".", "")), 10**decimals), Fraction(1, 10**decimals)


def _in_words(text: str) -> Iterator[Number]:
    """Numbers in words. ``one`` alone is a pronoun as often as a number: it is part of something else."""
    for match in WORDS.finditer(text):
        value = value_of(match[0])
        if value is None:
            continue
        minus = _MINUS.search(text, max(match.start() - 10, 0), match.start())
        start = minus.start() if minus else match.start()
        number = _finished(text, start, match.end(), Fraction(value), _ONE, None, False, minus is not None)
        pronoun = match[0].lower() == "one" and number.unit is None
        yield number._replace(part=pronoun)
