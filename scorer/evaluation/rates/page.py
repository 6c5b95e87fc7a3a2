"""The page to label in: one HTML file without any request, that keeps its labels in the browser and saves them as CSV.

The saved file is the label file with the columns ``label`` and ``comment`` filled in. The metric's label is not on the
page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from .label_file import COLUMNS, COMMENT, LABEL, Item


def render_page(items: Sequence[Item], title: str, file: str = "labels.csv") -> str:
    """The page for the rows of a sample.

    Args:
        title: what is labelled, for the heading: the name of the output.
        file: name under which the labels are saved.
    """
    style, script = _own("labels.css"), _own("labels.js")
    content = {
        "columns": COLUMNS,
        "label": COLUMNS.index(LABEL),
        "comment": COLUMNS.index(COMMENT),
        "store": _digest(items),
        "file": file,
        "items": [{"facts": item.facts, "text": item.text, "cells": item.cells()} for item in items],
    }
    return _template().render(
        title=title, count=len(items), style=style, script=script, policy=_policy(style, script), data=_as_data(content)
    )


def _digest(items: Sequence[Item]) -> str:
    """Tells samples apart in the browser's store."""
    content = json.dumps([item.cells() for item in items], ensure_ascii=True).encode()
    return "d2t-labels-" + hashlib.sha256(content).hexdigest()[:16]


def _as_data(content: object) -> Markup:
    """JSON for a script element: no character of it can end the element or begin markup."""
    text = json.dumps(content, ensure_ascii=True)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _own(name: str) -> Markup:
    return Markup(resources.files(__package__).joinpath(name).read_text("utf-8"))


@cache
def _template() -> Template:
    loader = PackageLoader(__package__, ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False)
    return environment.get_template("labels.html.jinja")


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and nothing runs but these two, which are recognised by their digests."""
    digests = [
        f"{kind} 'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
        for kind, content in (("style-src", style), ("script-src", script))
    ]
    return f"default-src 'none'; {'; '.join(digests)}; img-src data:; base-uri 'none'; form-action 'none'"
