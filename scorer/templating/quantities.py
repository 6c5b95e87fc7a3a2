"""Quantities in texts: numbers with a unit of length, mass or time, compared across units.

``330`` in a column ``height_cm`` and ``3.3 metres`` in a text are the same quantity, as are ``2 h 0 min`` and
``2 hours``. A model takes them for different values. They are compared to give a hint, never to change a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..metric.fact_templates import split_camel_case

_SPELLINGS = {
    ("length", 0.001): "mm millimetre millimetres millimeter millimeters",
    ("length", 0.01): "cm centimetre centimetres centimeter centimeters",
    ("length", 1.0): "m metre metres meter meters",
    ("length", 1000.0): "km kilometre kilometres kilometer kilometers",
    ("length", 0.0254): "inch inches",
    ("length", 0.3048): "ft foot feet",
    ("length", 1609.344): "mi mile miles",
    ("mass", 0.001): "g gram grams",
    ("mass", 1.0): "kg kilo kilos kilogram kilograms kilogramme kilogrammes",
    ("mass", 1000.0): "t tonne tonnes",
    ("mass", 0.45359237): "lb lbs pound pounds",
    ("time", 1.0): "s sec secs second seconds",
    ("time", 60.0): "min mins minute minutes",
    ("time", 3600.0): "h hr hrs hour hours",
    ("time", 86400.0): "d day days",
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
"""Dimension, and metres, kilograms or seconds, by spelling."""
_QUANTITY = re.compile(
    rf"(?<![\w.,-])((?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?)[\s-]?({'|'.join(_UNITS)})(?!\w)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_JOINS = re.compile(r",?\s*(?:and\s)?\s*")
_WORD = re.compile(r"\w+")
_LARGEST_ERROR = 0.05


class Quantity(NamedTuple):
    """A number with a unit, or several of one dimension that are added, such as ``2 h 5 min``."""

    dimension: str
    """``length``, ``mass`` or ``time``."""
    amount: float
    """Amount in metres, kilograms or seconds."""
    rounding: float
    """Half of a unit in its last digit, in the same unit."""
    words: str
    """The quantity as it is written."""


def quantities(text: str) -> Iterator[Quantity]:
    """The quantities of a text, in order; a smaller unit right after a larger one is added to it."""
    last: Quantity | None = None
    end, unit = 0, 0.0
    for match in _QUANTITY.finditer(text):
        quantity, smaller = _quantity(match[1], match[2], match[0]), _UNITS[match[2].lower()][1]
        if (
            last is not None
            and last.dimension == quantity.dimension
            and smaller < unit
            and _JOINS.fullmatch(text, end, match.start())
        ):
            words = text[end - len(last.words) : match.end()]
            last = Quantity(last.dimension, last.amount + quantity.amount, quantity.rounding, words)
        else:
            if last is not None:
                yield last
            last = quantity
        end, unit = match.end(), smaller
    if last is not None:
        yield last


def said_in_another_unit(predicate: str, value: str, text: str) -> str | None:
    """The words of a text that give a value in another unit or notation, rounded or not.

    Args:
        predicate: its last word is the unit of a value that is a number alone, as in ``height_cm``.
        value: as the table has it.

    Returns:
        The words; ``None`` if the value is no quantity, or the text does not have it.
    """
    if (quantity := _of_value(predicate, value)) is None:
        return None
    for in_text in quantities(text):
        error = min(max(in_text.rounding, 1e-9 * quantity.amount), _LARGEST_ERROR * quantity.amount)
        is_equal = in_text.dimension == quantity.dimension and abs(in_text.amount - quantity.amount) <= error
        if is_equal and in_text.words.lower() != quantity.words.lower():
            return in_text.words
    return None


def _of_value(predicate: str, value: str) -> Quantity | None:
    """The quantity that a value of the table is, as a whole."""
    value = value.strip()
    if _NUMBER.fullmatch(value) is None:
        parts = list(quantities(value))
        return parts[0] if len(parts) == 1 and parts[0].words == value else None
    *_, unit = ["", *_WORD.findall(split_camel_case(predicate).replace("_", " "))]
    return _quantity(value, unit, f"{value} {unit}") if unit.lower() in _UNITS else None


def _quantity(number: str, unit: str, words: str) -> Quantity:
    dimension, factor = _UNITS[unit.lower()]
    digits = number.replace(",", "")
    decimals = len(digits.partition(".")[2])
    return Quantity(dimension, float(digits) * factor, 0.5 * factor * 10.0**-decimals, words)
