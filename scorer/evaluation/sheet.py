"""A page for a browser in which people label rows: facts and text side by side. It saves the CSV file of labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..metric.verdict import FINE, ROUGH

_PAGE = Path(__file__).with_name("sheet.html")
_LABELS = (*FINE, ROUGH[1])
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def as_page(rows: Sequence[tuple[str, Sequence[str], str]], name: str) -> bytes:
    """The page, which needs no other file and no network.

    Args:
        rows: of each its id, its facts in words, and its text.
        name: of the CSV file that it saves.
    """
    items = [{"item": item, "facts": list(facts), "text": text} for item, facts, text in rows]
    data = json.dumps({"name": name, "labels": _LABELS, "rows": items}, ensure_ascii=False)
    page = _PAGE.read_text("utf-8").replace("DATA</script>", data.translate(_ESCAPES) + "</script>", 1)
    return page.encode("utf-8", "replace")
