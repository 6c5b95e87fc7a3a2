"""Elements of arrays, however the file is laid out and cut: what Python's reader finds in the whole file."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorer.storage import json_arrays
from scorer.storage.json_arrays import array_elements
from scorer.storage.opened_file import RefusedError

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
LAYOUTS: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",\n", ":")}, {"separators": ("\n,", ": ")}]


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[i : i + size] for i in range(0, len(content), size)]


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES, max_size=5), st.sampled_from(LAYOUTS), st.booleans(), st.integers(1, 40), st.integers(1, 50))
@example(["0]\x1f"], {}, False, 1, 1)  # cut between a backslash and what it escapes
@example(["0,\x1f", "\\", '"]'], {}, True, 1, 1)
def test_elements_are_those_of_python(values: Any, layout: Any, ascii: bool, size: int, chunk: int) -> None:
    content = b" \n" + json.dumps(values, ensure_ascii=ascii, **layout).encode() + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_arrays, "_CHUNK", chunk)
        elements = list(array_elements(cut(content, size)))
    assert repr([json.loads(text) for _, text in elements]) == repr(json.loads(content))
    starts = [content.decode().split("\n")[line - 1] for line, _ in elements]
    assert all(text.decode().split("\n")[0] in line for line, (_, text) in zip(starts, elements, strict=True))


GOOD = b'{"text": "a"}'


@pytest.mark.parametrize(
    "bad",
    [
        b'{"a" 1}',
        b'{"a": "x}',
        b'{"a": "x\\", "b": 1}',
        b'{"a": [1, 2}',
        b'{"a": 1]}',
        b'{"a": 1} {"b": 2}',
        b'{"a": \x01}',
        b"nonsense",
        b"",
        b'{"a": "tab\there", "b": [1]}',
        b"[" * 2000 + b"]" * 2000,
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_an_element_that_is_not_json_costs_itself_alone(bad: bytes, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_arrays, "_CHUNK", 16)
    content = b"[" + b",\n".join([GOOD, bad, GOOD, GOOD]) + b"\n]"
    elements = list(array_elements(cut(content, size)))
    assert [text.strip() for _, text in elements] == [GOOD, bad.strip(), GOOD, GOOD]
    assert [line for line, _ in elements] == [1, 2, 3, 4] or not bad
    assert elements[2][0] == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1},\n{"a": 2', "line 2: the array of objects does not end"),
        (b'[{"a": 1},\n', "line 2: the array of objects does not end"),
        (b"[", "line 1: the array of objects does not end"),
        (b'[{"a": 1}]\n\n{"a": 2}', re.escape("""line 3: something follows the end of the array: '{"a": 2}'""")),
        (b'[{"a": "' + b"x" * 5000 + b'"}]', "line 1: an element of the array is longer than 0 MiB"),
    ],
)
def test_what_ends_the_rows_is_said_with_its_line(
    content: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "_CHUNK", 16)
    monkeypatch.setattr(json_arrays, "MOST_ELEMENT", 2000)
    with pytest.raises(RefusedError, match=message):
        list(array_elements(cut(content, 100)))


class Counting:
    """A pattern or a reader of which the calls are counted."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.calls = inner, 0

    def search(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.inner.search(*arguments)

    def raw_decode(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.inner.raw_decode(*arguments)


@pytest.mark.parametrize("tail", [b'"}]', b"\n]", b""])
def test_the_work_grows_as_the_file_does(tail: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each quote of a string that is not closed is looked at a few times, and what is held is doubled."""
    calls = []
    for quotes in (20_000, 40_000):
        reader, tokens = Counting(json_arrays._READER), Counting(json_arrays._TOKEN)
        monkeypatch.setattr(json_arrays, "_READER", reader)
        monkeypatch.setattr(json_arrays, "_TOKEN", tokens)
        monkeypatch.setattr(json_arrays, "_CHUNK", 1000)
        try:
            list(array_elements(cut(b'[{"text": "' + b'\\"' * quotes + tail, 100)))
        except RefusedError:
            assert tail != b'"}]'
        assert reader.calls < 12
        calls.append(tokens.calls)
    assert calls[1] <= 2.2 * calls[0]
