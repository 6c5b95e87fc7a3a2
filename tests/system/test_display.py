from __future__ import annotations

import json

import pytest

from scorer.system.terminal import json_visible, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "<U+001B>[2J"),
        ("a\nb\tc\r", "a<U+000A>b<U+0009>c<U+000D>"),
        ("\x7f\x9b\x00", "<U+007F><U+009B><U+0000>"),
        ("\u202e\u2066\u200f\u061c\u2028", "<U+202E><U+2066><U+200F><U+061C><U+2028>"),
        ("\u200b\ufeff\u2060", "<U+200B><U+FEFF><U+2060>"),
        ("\ud800 \udcff", "<U+D800> <U+DCFF>"),
        ("Müller, नमस्ते, 日本, می\u200cخواهم, 👩\u200d🚀", "Müller, नमस्ते, 日本, می\u200cخواهم, 👩\u200d🚀"),
    ],
)
def test_what_is_hidden_and_what_is_not(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert json.loads(json_visible(json.dumps(text, ensure_ascii=False))) == text
    json_visible(json.dumps(text, ensure_ascii=False)).encode()
