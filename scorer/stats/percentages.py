"""How shares and their differences are written: the same on the console, in messages, gates files and the report."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share from 0 to 1: ``12.3%``, ``0.31%``. Only 0 is ``0%`` and only 1 is ``100%``.

    Two decimals below 1 %, otherwise one; ``<0.01%`` and ``>99.9%`` near the ends.
    """
    if 0 < share < 0.00005:
        return "<0.01%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    decimals = 0 if share in (0, 1) else 2 if share < 0.00995 else 1
    return f"{100 * share:.{decimals}f}%"


def points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign: ``+4.7``, ``-0.12``.

    Two decimals below one point, otherwise one; ``±0`` for no difference, ``≈0`` for one that would read as none.
    """
    written = f"{100 * difference:+.{1 if abs(difference) >= 0.00995 else 2}f}"
    if written.strip("+-0."):
        return written
    return "±0" if difference == 0 else "≈0"
