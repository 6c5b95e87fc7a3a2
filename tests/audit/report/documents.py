"""The audit document of the fixture, with figures that hang together; texts that try to become something else, and
documents full of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from scorer.audit.document import Checked, Document
from scorer.system.codec import decode

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "document.json"


def document(baseline: bool = True, gated: bool = True, runs: int = 7) -> Document:
    """A run that went wrong in one system and has one broken template. ``runs``: of the history, at most 7."""
    found = decode(FIXTURE.read_bytes(), Document, str(FIXTURE))
    if not baseline:
        found.baseline = found.baseline_changes = found.worse = None
        for group in found.groups:
            group.change = None
    if not gated:
        found.gates, found.status = [], "pass"
        found.checked = Checked(gates=0, silent=0, nothing_checked=True, required=False)
    nights = sorted({run.night for run in found.history})
    found.history = [run for run in found.history if run.night in nights[len(nights) - runs :]]
    return found


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


CHOICES = {"status", "severity", "against", "alert_direction", "missing", "why", "compared_with"}
"""Keys of texts that are one of a few words; another one is refused before anything is shown."""


def infected(text: str, base: Document | None = None) -> Document:
    """A document with every text in it replaced, those that the program writes itself too, and every key from data."""
    return msgspec.convert(_replaced(msgspec.to_builtins(base or document()), text), Document)


def _replaced(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, str):
        return value if key in CHOICES else text
    if isinstance(value, list):
        return [_replaced(item, text, key) for item in value]
    if isinstance(value, dict):
        is_data = key in ("group", "errors", "notes", "versions")
        return {text if is_data else name: _replaced(item, text, name) for name, item in value.items()}
    return value


def huge(text: str, many: int) -> Document:
    """Everything that the data decides the number of, ``many`` times, with long texts."""
    long = (text * 8000)[:8000]
    found = msgspec.to_builtins(infected(long))
    whole, changes, row = found["groups"][0], found["baseline_changes"], found["worst"][0]
    for holder, name in (
        *((found, name) for name in ("gates", "findings", "history", "notes")),
        (whole, "predicates"),
        (changes["flips"], "rows"),
        (found["baseline"], "differs"),
        (found["findings"][0], "evidence"),
    ):
        holder[name] = (holder[name] or [long])[:1] * many
    found["history"][0]["group"] = {}  # one object, many times
    for i in range(many):
        group = {f"{text}{c}": f"{text}{i}{c}" for c in range(20)}
        found["groups"].append({**found["groups"][1], "group": group, "grouping": [f"{i % 30}"]})
    row |= {"facts": row["facts"] * 200, "group": {f"{text}{i}": long[:3000] for i in range(50)}}
    found["worst"] = [{**row, "kind": f"{i % 40} {text}"} for i in range(many)]
    found["rows"] |= {name: {f"{text}{i}": 1 for i in range(many)} for name in ("errors", "notes")}
    found["versions"] = {f"{text}{i}": text for i in range(many)}
    return msgspec.convert(found, Document)
