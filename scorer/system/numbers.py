"""Numbers in decimal digits, as facts have them; JSON with numbers as they are written; shares in percent."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, TypeVar

Value = TypeVar("Value")
MOST_DIGITS = 21
"""Numbers with more digits keep their exponent."""
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,4}))?")


def spell_number(text: str) -> str:
    """A number in decimal digits, without the point of a whole one, with its exponent written out; other texts and all
    other digits stay as they are."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, integer, fraction, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    if exponent:
        digits, point = integer + fraction, len(integer) + exponent
        if len(digits) > MOST_DIGITS or not -MOST_DIGITS < point <= MOST_DIGITS:
            return text
        digits, point = "0" * (1 - point) + digits, max(point, 1)
        digits = digits.ljust(point, "0")
        integer, fraction = digits[:point].lstrip("0") or "0", digits[point:]
        if len(integer) + len(fraction) > MOST_DIGITS:
            return text
    if not fraction.strip("0"):
        return "0" if not integer.strip("0") else sign + integer
    return f"{sign}{integer}.{fraction}"


def parse_json(text: str) -> Any:
    """Parse JSON with numbers as text, and ``NaN``, ``Infinity`` and ``-Infinity`` as null; a :class:`ValueError` for
    invalid JSON, nesting that is too deep, and a repeated key."""
    digits = spell_number
    try:
        return json.loads(
            text, parse_int=digits, parse_float=digits, parse_constant=no_value, object_pairs_hook=unique_keys
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def no_value(name: str) -> None:
    """The value of ``NaN``, ``Infinity`` and ``-Infinity``: ``None``."""


def unique_keys(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """An object of JSON; a :class:`ValueError` if a key occurs twice, where Python's reader keeps the last value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name in times if times[name] > 1)!r} occurs twice")
    return members


def percent(share: float) -> str:
    """A share from 0 to 1 as ``12.3%``, below 1 % with two decimals; ``<0.01%`` and ``>99.9%`` near 0 and 1."""
    if 0 < share < 0.00005:
        return "<0.01%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    decimals = 0 if share in (0, 1) else 2 if share < 0.00995 else 1
    return f"{100 * share:.{decimals}f}%"


def points(difference: float) -> str:
    """A difference of shares in points with its sign: ``+4.7``, ``-0.12``; ``≈0`` where the digits would say none."""
    text = f"{100 * difference:+.{1 if abs(difference) >= 0.00995 else 2}f}"
    if text.strip("+-0."):
        return text
    return "±0" if difference == 0 else "≈0"
