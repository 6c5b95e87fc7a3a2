"""Numbers in decimal digits, as facts have them."""

from __future__ import annotations

import re

MOST_DIGITS = 21
"""Numbers with more digits keep their exponent."""
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,4}))?")


def spell_number(text: str) -> str:
    """A number in decimal digits: without the point of a whole one, with its exponent written out.

    Any other text stays as it is, and so do all other digits.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    if exponent:
        digits, point = whole + fraction, len(whole) + exponent
        if len(digits) > MOST_DIGITS or not -MOST_DIGITS < point <= MOST_DIGITS:
            return text
        digits, point = "0" * (1 - point) + digits, max(point, 1)
        digits = digits.ljust(point, "0")
        whole, fraction = digits[:point].lstrip("0") or "0", digits[point:]
        if len(whole) + len(fraction) > MOST_DIGITS:
            return text
    if not fraction.strip("0"):
        return "0" if not whole.strip("0") else sign + whole
    return f"{sign}{whole}.{fraction}"
