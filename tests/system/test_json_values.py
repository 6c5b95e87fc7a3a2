"""Members of objects and items of lists are what Python's reader finds, each as it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.system.json_values import follow, list_items, object_members, steps_below, value_text

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
BLANKS = st.sampled_from(["", " ", "\n\t"])


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), BLANKS)
def test_members_are_those_of_python(values: dict[str, Any], blank: str) -> None:
    texts = {key: json.dumps(value, separators=(blank + ",", ":" + blank)) for key, value in values.items()}
    line = "{" + ",".join(f"{blank}{json.dumps(key)}{blank}:{blank}{text}" for key, text in texts.items()) + "}"
    found = object_members(line.encode())
    assert {key: raw.decode() for key, raw in found.items()} == texts
    again = list_items(("[" + ",".join(f"{blank}{text}{blank}" for text in texts.values()) + "]").encode())
    assert [raw.decode() for raw in again] == list(texts.values())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "one", "te\\u0078t": "two"}', "the key 'text' occurs twice"),
        (b'{"a": 1, "a": NaN}', "the key 'a' occurs twice"),
        (b'{"\\"": 1, "\\u0022": 2}', "the key '\"' occurs twice"),
        (b"[1]", "it is not an object"),
        (b'"{}"', "it is not an object"),
        (b'{"a": 1} x', "Extra data"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "Expecting value"),
    ],
)
def test_what_is_no_object_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        object_members(line)


def test_bytes_and_halves_of_characters_stay_what_they_are() -> None:
    found = object_members(b'{"a": "Ren\xe9 \\n", "b": "\\ud800", "c": ["\xff"], "\\"": 1.50, "n": Infinity}')
    texts = {key: value_text(raw) for key, raw in found.items()}
    assert texts == {"a": b"Ren\xe9 \n", "b": b"\xed\xa0\x80", "c": b'["\xff"]', '"': b"1.50", "n": None}


def test_the_keys_of_a_line_are_compared_once() -> None:
    class Line(bytes):
        counted = 0

        def count(self, *arguments: Any) -> int:
            self.counted += 1
            return super().count(*arguments)

    line = Line(json.dumps({f"key {i}": {"a": i} for i in range(5000)}).encode())
    assert len(object_members(line)) == 5000 and line.counted == 1


def test_steps_lead_into_objects_and_lists() -> None:
    value = b' {"choices": [{"message": {"content": "hi", "0": [1, 2]}}], "2": {}} '
    assert follow(value, ("choices", "0", "message", "0", "1")) == b"2"
    assert follow(value, ("2",)) == b"{}" and follow(value, ("choices", "1")) is None
    assert follow(value, ("choices", "x")) is None and follow(b"plain", ("a",)) is None
    assert follow(b'{"a": 1, "a": 2}', ("a",)) == b'{"a": 1, "a": 2}'
    assert steps_below(value.strip()) == [("choices",), ("2",)]
    assert steps_below(b'[{"type": "text", "text": "x"}]') == [("0", "type"), ("0", "text")]
    assert steps_below(b"[1]") == [("0",)] and steps_below(b"[]") == [] and steps_below(b"{") == []
