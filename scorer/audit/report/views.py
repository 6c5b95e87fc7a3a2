"""What values of several sections look like: computed here in Python, marked up in ``templates/values.html.jinja``.

``kind`` names the macro that shows a view. A plain string is text, and is shown as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup


@dataclass(frozen=True)
class Text:
    """A text of the data, isolated from the direction of the page. ``more``: how many characters are cut off."""

    shown: str
    more: int = 0
    kind: ClassVar[str] = "data"


@dataclass(frozen=True)
class Code:
    """What is written as code: a key, a signature, a command."""

    value: str | Text
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Tag:
    """A status as a word in its colour, never as a colour alone."""

    words: str
    colour: str
    kind: ClassVar[str] = "tag"


@dataclass(frozen=True)
class Link:
    """A link within the page."""

    to: str
    value: str | Text
    kind: ClassVar[str] = "link"


@dataclass(frozen=True)
class Styled:
    """Words in a style of the style sheet, in the line."""

    words: str
    style: str | None
    kind: ClassVar[str] = "styled"


@dataclass(frozen=True)
class GroupHead:
    """A group as the head of its row: its values (``None``: null), below them the columns that they are of."""

    values: tuple[Text | None, ...]
    columns: Text | None
    kind: ClassVar[str] = "group_head"


@dataclass(frozen=True)
class GroupInLine:
    """A group within a sentence: columns and their values."""

    pairs: tuple[tuple[Text, Text | None], ...]
    kind: ClassVar[str] = "group_in_line"


@dataclass(frozen=True)
class RateShown:
    """A rate, its interval, and both drawn."""

    rate: str
    interval: str
    drawing: Markup
    kind: ClassVar[str] = "rate"


@dataclass(frozen=True)
class Difference:
    """``+4.7 points (+3.9 to +5.5)``. ``style``: of the figure."""

    points: str
    interval: str
    style: str
    kind: ClassVar[str] = "difference"


@dataclass(frozen=True)
class WithNotes:
    """A value with further lines below it, smaller."""

    value: str | Text
    notes: tuple[tuple[str | Text, ...], ...]
    kind: ClassVar[str] = "with_notes"


@dataclass(frozen=True)
class Suspect:
    """A predicate or template, whether it is a suspect, and further lines below it."""

    value: Text
    suspect: bool
    notes: tuple[tuple[str | Text, ...], ...] = ()
    kind: ClassVar[str] = "suspect"


Shown = str | Text | Code | Tag | Link | Styled | GroupHead | GroupInLine | RateShown | Difference | WithNotes | Suspect
"""What ``show`` shows; drawings are strings too, of the type Markup."""

Line = tuple[Shown, ...]
"""Parts of a sentence, one after the other."""
