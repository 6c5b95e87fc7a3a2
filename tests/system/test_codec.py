"""Files of ours as JSON: the way back, names that are not UTF-8, other schemas, damage named by its field."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import DamagedFileError
from scorer.system.codec import Record, decode, encode


class Inner(Record):
    rows: int = msgspec.field(name="in")
    share: float | None = None


class Stored(Record):
    schema: int = 3
    names: dict[str, Inner] = msgspec.field(default_factory=dict)
    path: str = ""


# What os.fsdecode makes of any bytes, and strings that look like escapes.
paths = st.one_of(
    st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.text(alphabet="%25F8EA0\udcff\udc80é", max_size=12),
)


@given(st.dictionaries(paths, st.integers(0, 2**53)), paths)
def test_every_name_survives_and_the_file_is_utf_8(names: dict[str, int], path: str) -> None:
    stored = Stored(names={name: Inner(rows=rows) for name, rows in names.items()}, path=path)
    data = encode(stored)
    json.loads(data.decode("utf-8"))
    assert decode(data, Stored, "x") == stored
    assert decode(encode(stored, indent=1, canonical=True), Stored, "x") == stored


def test_a_number_that_is_not_finite_is_null() -> None:
    assert encode({"a": math.nan, "b": math.inf}) == b'{"a":null,"b":null}'


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b'{"schema":3,"names":{"a":{"in":"x"}}}', "names"),
        (b'{"schema":3,"other":1}', "`other`"),
        (b'{"schema":"3"}', "schema"),
        (b"{", "truncated"),
        (b"[" * 100_000, "f.json"),
        (b"", "truncated"),
    ],
)
def test_damage_names_the_field(data: bytes, path: str) -> None:
    with pytest.raises(DamagedFileError, match=path) as caught:
        decode(data, Stored, "f.json", advice="delete it")
    assert str(caught.value).endswith("; delete it") and "\n" not in str(caught.value)
