"""The document is what its types say and survives JSON; the site has every key."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import msgspec

from scorer.audit import AuditOptions, audit, document
from scorer.audit.document import Document
from scorer.system.codec import decode, encode
from tests.audit.nights import SIGNATURE, gates_file, night, row
from tests.conftest import ROOT

KINDS = [kind for kind in vars(document).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


def keys(value: Any) -> set[str]:
    """The fields of all parts; that every value is of its type is what decoding checks."""
    if isinstance(value, msgspec.Struct):
        fields = {f"{type(value).__name__}.{name}" for name in value.__struct_fields__}
        return fields.union(*(keys(getattr(value, name)) for name in value.__struct_fields__))
    value = list(value.values()) if isinstance(value, dict) else value
    return set().union(*map(keys, value)) if isinstance(value, list | tuple) else set()


def test_every_audit_is_what_its_types_say_and_fills_every_key(tmp_path: Path) -> None:
    """Audits that between them fill every key: alone, against a night, across signatures, with gates and history."""
    facts = [("food", 0.1), ("area", 0.9)]
    rows = [row(f"t{i}" if i else "", facts, 0.2 if i % 3 else 0.9, system="ab"[i % 2], n=i % 2) for i in range(60)]
    rows += [row(f"u{s}", facts, 0.9, "shared", system=s, n=0) for s in "ab"]
    rows += [row(None, system=None, n=None), row("x", error="too_long:omission", system="a", n=0)]
    other = [{**one, "facts": [("food", 0.9), ("area", 0.9)]} for one in rows[:30]] + rows[40:]
    changed = [*rows[5:], row("new", [("food", 0.1)], system="c", n=3)]
    before = night(tmp_path / "before", rows)
    tonight = night(tmp_path / "tonight", changed, finished="2026-01-02T03:00:00+00:00")
    flipped = night(tmp_path / "flipped", other, by_predicate={"food": {"template": 9}, "area": {"backoff": 3}})
    across = night(tmp_path / "across", other, signature=SIGNATURE.replace("metric:1", "metric:2"))
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\nfail = 0.1\nby = ["system"]\nagainst = "baseline"')
    documents = [
        audit(before),
        audit(tonight, AuditOptions(baseline=before, gates=(gates,), history=tmp_path / "h.parquet")),
        audit(flipped, AuditOptions(baseline=before, by=(("system", "n"), ("n",)))),
        audit(across, AuditOptions(baseline=before, across_signatures=True)),
    ]
    for one in documents:
        assert decode(encode(one), Document, "x") == one  # of the types that JSON has: no number of numpy's
    assert set().union(*map(keys, documents)) == {
        f"{kind.__name__}.{name}" for kind in KINDS for name in kind.__struct_fields__
    }


def test_the_site_names_every_key() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["parts"]()
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL))
    for kind in KINDS:
        assert not [key for key in kind.__struct_encode_fields__ if f"`{key}` " not in sections[kind.__name__]]
