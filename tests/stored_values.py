"""Hypothesis strategies for whatever msgspec decodes, from the types of the fields."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

# What os.fsdecode makes of any bytes, and strings that look like escapes.
NAMES = st.one_of(
    st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.text(alphabet="%25F8EA0\udcff\udc80é", max_size=12),
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)


def values_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Values of a type; fields called ``schema`` keep their default."""
    return _of(inspect.type_info(kind))


def _of(kind: Any) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.StructType():
            fields = {field.name: _of(field.type) for field in kind.fields if field.name != "schema"}
            return st.builds(kind.cls, **fields)
        case inspect.UnionType():
            return st.one_of(*map(_of, kind.types))
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(0 if kind.ge == 0 else -(2**62), 2**62)
        case inspect.FloatType():
            return st.floats(0 if kind.ge == 0 else -1e30, 1e30 if kind.le is None else kind.le)
        case inspect.StrType():
            return NAMES
        case inspect.DictType():
            return st.dictionaries(NAMES, _of(kind.value_type), max_size=2)
        case inspect.VarTupleType():
            return st.lists(_of(kind.item_type), max_size=2).map(tuple)
        case inspect.TupleType():
            return st.tuples(*map(_of, kind.item_types))
        case inspect.ListType():
            return st.lists(_of(kind.item_type), max_size=2)
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.AnyType():
            return _ANY
    raise NotImplementedError(kind)
