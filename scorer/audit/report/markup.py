"""HTML that text from data cannot get into.

Markup is the type :class:`Html`, and :func:`element` is the one place that makes it: whatever else is handed to it, a
text of the data above all, is escaped. Forgetting to escape is therefore not a mistake that can be made: a plain
string is never markup.

Escaped is not yet harmless to read: a character that turns the direction of the line, or that nobody can see, is
replaced by its code point in a frame, so that a reader sees what is there and the page around it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_NEEDS_ESCAPE = re.compile("[&<>\"']")

# Control characters, invisible and direction-changing ones, line ends that only JavaScript knows, noncharacters and
# halves of surrogate pairs (which no encoding can write). A line feed and a tab are layout; the two joiners belong to
# ordinary Persian, Indic text and emoji.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U000e0000-\U000e007f]"
)
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_VOID = frozenset({"meta", "link", "input", "wbr"})


class Html(str):
    """Markup. Made by :func:`element`, :func:`join` and :func:`trusted` only; a plain string is text."""

    __slots__ = ()


Child = str | Html | None | Iterable["str | Html | None"]


def _escaped(text: str) -> str:
    return _NEEDS_ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


def code_point(character: str) -> str:
    """``U+202E`` for a character."""
    return f"U+{ord(character):04X}"


def plain(text: str) -> str:
    """``text`` with what cannot be seen spelled out, for places that hold no markup: titles and attributes."""
    return _UNSEEN.sub(lambda match: f"[{code_point(match[0])}]", text.replace("\r\n", "\n"))


def text(value: str) -> Html:
    """A text as markup that shows exactly it. Unseen characters become ``<span class="unseen">U+202E</span>``."""
    escaped = _escaped(value.replace("\r\n", "\n"))
    return Html(_UNSEEN.sub(lambda match: f'<span class="unseen">{code_point(match[0])}</span>', escaped))


def cost(value: str) -> int:
    """About how many bytes :func:`text` makes of a text, never less."""
    return (
        len(value.encode(errors="replace")) + 36 * len(_UNSEEN.findall(value)) + 5 * len(_NEEDS_ESCAPE.findall(value))
    )


def trusted(markup: str) -> Html:
    """Markup that this package wrote itself: its style sheet, its script. Never given anything of the data."""
    return Html(markup)


def join(*children: Child) -> Html:
    """Children one after the other; plain strings are escaped, ``None`` is nothing."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(text(child))
        else:
            parts.append(join(*child))
    return Html("".join(parts))


def element(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """One element.

    Args:
        children: markup as it is, strings escaped, iterables of both, ``None`` nothing.
        attributes: ``class_`` is ``class``, other underscores are hyphens; ``None`` and ``False`` leave the attribute
            out, ``True`` writes it without a value.

    Raises:
        ValueError: a name that is no name. Names come from this package, so this is a mistake in it.
    """
    written = []
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if not _NAME.fullmatch(key):
            raise ValueError(f"{key!r} is no attribute name")
        if value is True:
            written.append(f" {key}")
        elif value is not None and value is not False:
            written.append(f' {key}="{_escaped(plain(str(value)))}"')
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no element name")
    start = f"<{name}{''.join(written)}>"
    return Html(start if name in _VOID else f"{start}{join(*children)}</{name}>")
