"""Where the sentences of a text begin and end: the only module that uses the splitter of the extra ``sentences``.

nupunkt (MIT licence, no dependencies of its own) finds sentences of English as the Punkt algorithm does (Kiss & Strunk
2006), knows abbreviations, takes tokenised text as it comes, and gives tight offsets into the very string it was given.
Its version is part of the signature, since another one may cut elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import MissingDependencyError, install_hint

PACKAGE = "nupunkt"
_BLANK_LINES = re.compile(r"\n[ \t\r\f\v\n]*\n")

Split = Callable[[str], list[tuple[int, int]]]
"""Text to the (start, end) of its sentences: code points, in order, apart from one another, no blanks at either end."""


@dataclass(frozen=True)
class Splitter:
    """``name``: package and version, as the signature has it."""

    name: str
    split: Split


def open_splitter() -> Splitter:
    """The splitter of the extra ``sentences``.

    Raises:
        MissingDependencyError: the extra is not installed.
    """
    from importlib import metadata

    try:
        from nupunkt import sentence_spans
    except ImportError as e:
        raise MissingDependencyError(
            f"checking sentences needs a splitter of sentences ({e}); {install_hint('sentences')}"
        ) from e

    def split(text: str) -> list[tuple[int, int]]:
        # Blank lines end a sentence, single line breaks do not: texts are wrapped anywhere. The splitter's time grows
        # with the square of a run of blank lines, so that one is left of it, in as much room.
        lines = _BLANK_LINES.sub(lambda run: "\n" + " " * (len(run[0]) - 2) + "\n", text)
        return [(start, end) for start, end in sentence_spans(lines) if start < end]

    return Splitter(f"{PACKAGE}-{metadata.version(PACKAGE)}", split)
