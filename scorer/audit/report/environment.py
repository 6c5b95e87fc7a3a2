"""The templates of the page and what holds in all of them.

- Text is never markup: autoescape is on, and only ``charts.py``, ``unseen.py`` and the package's own style sheet and
  script are :class:`markupsafe.Markup`.
- The finaliser shows every text with its unseen characters framed. Attributes take ``|plain`` instead.
- A name that is not there is an error, never an empty place.
- A line break in a template, with the blanks around it, is nothing: templates can be laid out, and no blank gets
  between two elements by accident. A tag is written on one line, and so is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from ..escapes import plain
from . import charts, content, numbers
from .limits import clip, clip_plain
from .unseen import framed

_BREAK = re.compile(r"[ \t]*\n\s*")


class _NoBreaks(Extension):
    """Line breaks of a template are layout of the template, not of the page."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                token = Token(token.lineno, "data", _BREAK.sub("", token.value))
            yield token


def finalise(value: object) -> object:
    """What an expression of a template becomes on the page: markup as it is, text with unseen characters framed."""
    return framed(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment() -> Environment:
    """The environment of all templates, made once."""
    made = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalise,
        extensions=[_NoBreaks],
        auto_reload=False,
    )
    made.filters |= {
        "plain": plain,
        "clip": clip,
        "clip_plain": clip_plain,
        **{one.__name__: one for one in numbers.FILTERS},
    }
    made.globals |= {"charts": charts, "content": content}
    return made


def rendered(template: str, **names: object) -> str:
    """A template of the package as HTML."""
    return environment().get_template(template).render(names)
