"""Fields of a JSON object by type: what is missing has its default, what is of another type is named."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from scorer.errors import OutputError
from scorer.system.json_fields import Fields

READ: dict[str, tuple[Callable[[Fields, str], object], object, object, tuple[object, ...]]] = {
    "text": (Fields.text, "a", "", (1, [], True)),
    "optional_text": (Fields.optional_text, "a", None, (1,)),
    "count": (Fields.count, 2**70, 0, (-1, 1.0, "1", True, [1])),
    "optional_count": (Fields.optional_count, 0, None, (-1, False)),
    "optional_integer": (Fields.optional_integer, -3, None, (1.0, True)),
    "flag": (Fields.flag, True, False, (0, "true")),
    "magnitude": (Fields.magnitude, 0.5, None, (-0.5, math.inf, math.nan, "1", True)),
    "counts": (Fields.counts, {"a": 1}, {}, ([], {"a": None}, {"a": -1})),
    "magnitudes": (Fields.magnitudes, {"a": 0.5}, {}, (1, {"a": "x"})),
    "texts": (Fields.texts, {"a": "b"}, {}, ({"a": 1}, "a")),
    "text_list": (Fields.text_list, ["a"], (), (["a", 1], "a")),
    "count_table": (Fields.count_table, [[1, 2]], None, ([1], [[-1]], {})),
    "items": (Fields.items, [], [], ([1], {})),
}


@pytest.mark.parametrize("kind", READ)
def test_every_type_has_a_default_and_refuses_the_others(kind: str) -> None:
    read, good, default, bad = READ[kind]
    assert read(Fields({}, "f.json"), "x") == read(Fields({"x": None}, "f.json"), "x") == default
    found = read(Fields({"x": good}, "f.json"), "x")
    assert found in (good, tuple(good) if kind == "text_list" else None, ((1, 2),))
    for value in bad:
        with pytest.raises(OutputError, match=r"^f\.json is damaged: x(\.a)? is .*, not .*; run `scorer run` again$"):
            read(Fields({"x": value}, "f.json"), "x")


def test_what_has_to_be_there() -> None:
    with pytest.raises(OutputError, match="x is None, not a count"):
        Fields({}, "f").required_count("x")
    with pytest.raises(OutputError, match="x is None, not an object"):
        Fields({}, "f").required_inner("x")
    with pytest.raises(OutputError, match=r"f is damaged: it holds \[1\], not an object"):
        Fields.of([1], "f")
    with pytest.raises(OutputError, match="b is 1, not a field that is known"):
        Fields({"a": 1, "b": 1}, "f").only(["a"])


def test_a_field_is_named_by_its_path_on_one_short_line() -> None:
    content = {"a": {"b": [{"c": {}}, {"c": {"d": "1\n" * 500}}]}}
    (first, second) = Fields(content, "f").inner("a").items("b")
    assert first.inner("c").counts("e") == {}
    with pytest.raises(OutputError, match=r"a\.b\[1\]\.c\.d is 1 1 1") as caught:
        second.counts("c")
    assert len(str(caught.value)) < 200 and "\n" not in str(caught.value)
    with pytest.raises(OutputError, match=r"a\.b is "):
        Fields(content, "f").each("a")
