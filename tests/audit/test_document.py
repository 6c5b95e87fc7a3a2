"""The document is what its types say, key by key, and JSON holds it; docs/audit.md names every key."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from scorer.audit import AuditOptions, audit, document
from scorer.audit.document import Document
from scorer.scoring.rates_file import RatesFile, SavedClass, SavedRate, labels_digest
from scorer.system.formats import AUDIT_SCHEMA
from tests.audit.nights import SIGNATURE, night, row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"


def check(value: Any, kind: Any, where: str = "document") -> set[str]:
    """Assert that a value is of a type, all the way down; gives the keys that were seen."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        assert isinstance(value, dict), where
        assert set(value) == set(hints), where
        return set(hints).union(*(check(value[key], hint, f"{where}.{key}") for key, hint in hints.items()))
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        assert isinstance(value, list), where
        return set().union(*(check(one, arguments[0], f"{where}[{i}]") for i, one in enumerate(value)))
    if origin is dict:
        assert isinstance(value, dict), where
        return set().union(*(check(one, arguments[1], f"{where}[{key!r}]") for key, one in value.items()))
    if origin in (Union, types.UnionType):
        chosen = [one for one in arguments if fits(value, one)]
        assert chosen, f"{where}: {value!r} is none of {arguments}"
        return check(value, chosen[0], where)
    assert fits(value, kind), f"{where}: {value!r} is no {kind}"
    return set()


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type at its outermost."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    outer = dict if is_typeddict(kind) else get_origin(kind) or kind
    return type(value) is outer  # neither numpy numbers nor booleans as integers


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Audits that between them fill every key: alone, against a night, across signatures, with gates and history."""
    folder = tmp_path_factory.mktemp("documents")
    rows = [
        row(f"t{i}" if i else "", [("food", 0.1), ("area", 0.9)], 0.2 if i % 3 else 0.9, system="ab"[i % 2], n=i % 2)
        for i in range(60)
    ]
    rows += [row(None, system=None, n=None), row("x", error="too_long:omission", system="a", n=0)]
    other = [{**one, "facts": [("food", 0.9), ("area", 0.9)]} for one in rows[:30]] + rows[40:]
    before = night(folder / "before", rows, finished="2026-01-01T03:00:00+00:00")
    tonight = night(
        folder / "tonight",
        [*rows[5:], row("new", [("food", 0.1)], system="c", n=3)],
        finished="2026-01-02T03:00:00+00:00",
    )
    flipped = night(folder / "flipped", other, by_predicate={"food": {"template": 9}, "area": {"backoff": 3}})
    signature = SIGNATURE.replace("metric:1", "metric:2")
    across = night(folder / "across", other, signature=signature)
    gates = folder / "gates.toml"
    gates.write_text('[[gates]]\nmetric = "not_ok_rate"\nfail = 0.1\nby = ["system"]\nagainst = "baseline"')
    saved = SavedRate(rate="not_ok_rate", group="a", rows=30, labels=9, metric=0.4, value=0.5, low=0.3, high=0.7,
                      bounds=None, classes=(SavedClass(predicted=True, value=0.5, size=9.0, labels=9),))  # fmt: skip
    rates = folder / "rates.json"
    file = RatesFile(out="out", signature=SIGNATURE, rows=len(rows), digest=labels_digest(before), source="labels",
                     by="system", rates=(saved,), strata=())  # fmt: skip
    rates.write_bytes(file.to_json())
    return [
        audit(before, AuditOptions(history=folder / "h.parquet", rates=rates)),
        audit(tonight, AuditOptions(baseline=before, gates=(gates,), history=folder / "h.parquet")),
        audit(flipped, AuditOptions(baseline=before, by=(("system", "n"), ("n",)), errors="excluded")),
        audit(across, AuditOptions(baseline=before, across_signatures=True)),
    ]


def test_it_is_what_its_types_say(documents: list[Document]) -> None:
    seen = set().union(*(check(one, Document) for one in documents))
    types_of = [kind for kind in vars(document).values() if is_typeddict(kind)]
    assert seen == {key for kind in types_of for key in get_type_hints(kind)}, "keys that no audit here fills"


def test_json_holds_it(documents: list[Document]) -> None:
    for one in documents:
        assert json.loads(json.dumps(one, allow_nan=False)) == one
        assert one["schema"] == AUDIT_SCHEMA == 1


def test_the_page_names_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)`", text))
    kinds = [kind for kind in vars(document).values() if is_typeddict(kind)]
    missing = {f"{kind.__name__}.{key}" for kind in kinds for key in get_type_hints(kind) if key not in named}
    assert not missing
