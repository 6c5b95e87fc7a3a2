"""The rule for unseen characters: a reader sees that they are there, and the page around them stays as it is.

A character that turns the direction of the line, or that is invisible, is replaced by its code point: in a frame where
markup can stand, in brackets where it cannot (attributes, the title).
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from ...system.display import HIDDEN

# What a terminal would not show, and more: soft hyphen, fillers, noncharacters, object replacement, tags. A line feed
# and a tab are layout; the two joiners belong to ordinary Persian, Indic text and emoji.
_UNSEEN = re.compile(
    rf"(?![\n\t])[{HIDDEN}\xad\u034f\u115f\u1160\u180e\u3164\uffa0\ufdd0-\ufdef\ufff0-\ufffc\ufffe\uffff"
    r"\U000e0000-\U000e007f]"
)
_ESCAPED = re.compile("[&<>\"']")


def code_point(character: str) -> str:
    """``U+202E`` for a character."""
    return f"U+{ord(character):04X}"


def plain(text: object) -> str:
    """``text`` with unseen characters as ``[U+202E]``, for places that hold no markup: attributes and the title."""
    return _UNSEEN.sub(lambda match: f"[{code_point(match[0])}]", str(text).replace("\r\n", "\n"))


def framed(text: str) -> Markup:
    """``text`` as markup that shows exactly it, with unseen characters in a frame.

    The frame needs no quotation mark, so that it cannot end an attribute that it was put into by mistake.
    """
    escaped = str(escape(text.replace("\r\n", "\n")))
    return Markup(_UNSEEN.sub(lambda match: f"<span class=unseen>{code_point(match[0])}</span>", escaped))


def cost(text: str) -> int:
    """About how many bytes :func:`framed` makes of a text, never less."""
    return len(text.encode(errors="replace")) + 36 * len(_UNSEEN.findall(text)) + 5 * len(_ESCAPED.findall(text))
