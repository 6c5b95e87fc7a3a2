"""The environments of the templates, one for each format, and what holds in all of them.

- Text is never markup: every expression is escaped as its format needs, by the finaliser (:mod:`.escapes`). Only
  ``escapes.py``, the package's own style sheet and script, and what a macro has made are
  :class:`markupsafe.Markup`.
- The page shows every text with its unseen characters framed. Attributes take ``|plain`` instead.
- A name that is not there is an error, never an empty place.
- A line break in a template of the page, with the blanks around it, is nothing: templates can be laid out, and no blank
  gets between two elements by accident. A tag is written on one line, and so is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from ..document import RATES
from ..gates import describe, shown, why_nothing
from . import charts, content, numbers
from .escapes import finaliser, plain
from .limits import clip, clip_plain

_BREAK = re.compile(r"[ \t]*\n\s*")
_LONGEST_LINE = 300


class _NoBreaks(Extension):
    """Line breaks of a template are layout of the template, not of the page."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                token = Token(token.lineno, "data", _BREAK.sub("", token.value))
            yield token


@cache
def environment(kind: str) -> Environment:
    """The environment of a format, which is the second part of a template's name: ``html``, ``md``, ``xml``, ``prom``
    or ``txt``."""
    page = kind == "html"
    made = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=kind in ("html", "xml"),
        undefined=StrictUndefined,
        finalize=finaliser(kind),
        extensions=[_NoBreaks] if page else [],
        trim_blocks=not page,
        lstrip_blocks=not page,
        auto_reload=False,
    )
    made.filters |= {"plain": plain, "clip": clip, "clip_plain": clip_plain, "line": _line, "raw": Markup}
    made.filters |= {"across": charts.across, "down": charts.down, "nice_top": charts.nice_top, "scale": charts.scale}
    made.filters |= {one.__name__: one for one in numbers.FILTERS}
    made.globals |= {"content": content, "PLOT_HEIGHT": charts.PLOT_HEIGHT}
    made.globals |= {"RATES": RATES, "describe": describe, "shown": shown, "why_nothing": why_nothing}
    return made


def rendered(template: str, **names: object) -> str:
    """A template of the package, filled."""
    return environment(template.split(".")[1]).get_template(template).render(names)


def _line(text: str) -> str:
    """A text on one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 3] + "..."
