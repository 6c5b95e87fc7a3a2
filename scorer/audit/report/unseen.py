"""The rule for unseen characters: a reader sees that they are there, and the page around them stays as it is.

A character that turns the direction of the line, or that is invisible, is replaced by its code point: in a frame where
markup can stand, in brackets where it cannot (attributes, the title).
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from ..escapes import UNSEEN, code_point

_ESCAPED = re.compile("[&<>\"']")


def framed(text: str) -> Markup:
    """``text`` as markup that shows exactly it, with unseen characters in a frame.

    The frame needs no quotation mark, so that it cannot end an attribute that it was put into by mistake.
    """
    escaped = str(escape(text.replace("\r\n", "\n")))
    return Markup(UNSEEN.sub(lambda match: f"<span class=unseen>{code_point(match[0])}</span>", escaped))


def cost(text: str) -> int:
    """About how many bytes :func:`framed` makes of a text, never less."""
    return len(text.encode(errors="replace")) + 36 * len(UNSEEN.findall(text)) + 5 * len(_ESCAPED.findall(text))
