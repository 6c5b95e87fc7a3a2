"""Texts that try to become something else, and documents full of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from scorer.audit.document import Document
from tests.audit.report.documents import document

TEXTS = {
    "script": "<script>window.pwned = 1</script>",
    "end of script": "</script><script>window.pwned = 1</script>",
    "attribute": '" onmouseover="window.pwned = 1" x="',
    "single quote": "' autofocus onfocus='window.pwned = 1",
    "comment": "<!--><script>window.pwned = 1</script>-->",
    "entity": "&lt;script&gt; &amp;amp; &#60; &notanentity",
    "template": "${window.pwned = 1} {{constructor.constructor('window.pwned=1')()}}",
    "url": "https://example.org/?a=1&b=2 javascript:window.pwned=1 //example.org data:text/html,x",
    "closing": "</td></table></main></body></html><h1>Passed</h1>",
    "bidi": "abc \u202edetrever\u202c \u2066isolated \u200f\u061c",
    "separators": "line\u2028paragraph\u2029next\x85end\r\nwindows\rmac",
    "controls": "nul\x00 bell\x07 escape\x1b[31m delete\x7f soft\xad zero\u200bwidth \ufeff",
    "noncharacters": "\ufffe\uffff\ufdd0 tag \U000e0041",
    "surrogate": "half \ud800 pair \udfff",
    "overlong word": "w" * 5000,
    "combining": "Z" + "\u0301\u0316\u0334" * 400,
    "blank": " \t\n ",
    "empty": "",
}
"""By name, a text that a careless page would run, be reordered by, or break on."""


CHOICES = {"status", "severity", "against", "rings", "missing", "why", "compared_with"}
"""Keys of texts that are one of a few words; another one is refused before anything is shown."""


def infected(text: str, base: Document | None = None) -> Document:
    """A document with every text in it replaced, those that the program writes itself too, and every key from data."""
    return msgspec.convert(_mapped(msgspec.to_builtins(base or document()), lambda _: text), Document)


def longer(text: str, characters: int) -> str:
    """``text`` repeated up to a length."""
    return (text * (characters // len(text) + 1))[:characters]


def _mapped(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    if isinstance(value, str):
        return value if key in CHOICES else change(value)
    if isinstance(value, list):
        return [_mapped(item, change, key) for item in value]
    if isinstance(value, dict):
        if key in ("group", "errors", "notes", "versions"):
            return {change(name): _mapped(item, change) for name, item in value.items()}
        return {name: _mapped(item, change, name) for name, item in value.items()}
    return value


def huge(text: str, many: int) -> Document:
    """Everything that the data decides the number of, ``many`` times, with long texts."""
    found = msgspec.to_builtins(infected(longer(text, 8000)))
    whole = found["groups"][0]
    for holder, names in (
        (found, ("gates", "findings", "history", "notes")),
        (whole, ("predicates",)),
        (found["baseline_changes"]["flips"], ("rows",)),
        (found["baseline"], ("differs",)),
        (found["findings"][0], ("evidence",)),
    ):
        for name in names:
            holder[name] = (holder[name] or [longer(text, 8000)])[:1] * many
    found["history"][0]["group"] = {}  # one object, many times
    found["groups"] += [
        {
            **found["groups"][1],
            "group": {f"{text}{c}": f"{text}{i}{c}" for c in range(20)},
            "grouping": [f"{i % 30}"],
        }
        for i in range(many)
    ]
    row = found["worst"][0]
    row["facts"] = row["facts"] * 200
    row["group"] = {f"{text}{i}": longer(text, 3000) for i in range(50)}
    found["worst"] = [{**row, "kind": f"{i % 40} {text}"} for i in range(many)]
    for name in ("errors", "notes"):
        found["rows"][name] = {f"{text}{i}": 1 for i in range(many)}
    found["versions"] = {f"{text}{i}": text for i in range(many)}
    return msgspec.convert(found, Document)
