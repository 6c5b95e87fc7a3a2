"""One object says how a scorer is set up; a plan records all of it, and all of it can be read back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer import ColumnNames, Scorer
from scorer.errors import OutputError
from scorer.metric.inputs import find_columns
from scorer.scoring.settings import Settings, from_plan
from scorer.storage.receipts import Fingerprint
from tests.bundles import make_bundle
from tests.storage.records import make_plan, make_shard

OTHER: dict[str, Any] = {
    "bundle": "other",
    "templates": "templates.json",
    "protocol": "nlgi_eval",
    "checks": "hallucination",
    "optional": ("food=Thai",),
    "missing_template": "error",
    "reading": "plain",
    "device": "cpu",
    "precision": "fp32",
    "threads": 2,
    "device_memory": 8,
    "overlong": "truncate",
    "sentences": True,
    "exact": True,
}
"""A value of each setting that is not its default."""
OTHER_COLUMNS: dict[str, Any] = {
    "text": "other_text",
    "triples": "other_triples",
    "facts": "other_triples",
    "attributes": "products",
    "subject": "text",
    "mr": "mr",
    "keep": ("text",),
    "prefix": "m_",
    "details": True,
    "document": "mr",
}
NOT_IN_THE_OUTPUT = {
    "device_memory": "no number depends on it",
    "threads": "a plan keeps those of its first run",
    "missing_template": "an error ends the run, so that no output has been made under it",
    "subject": "names the subject of attributes, and the facts are triples here; see tests/metric/test_forms.py",
    "device": "the kind of device that it leads to is in the signature, and here there is one kind",
}
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("text", "other_text", "mr")),
        *((name, pa.list_(pa.string())) for name in ("triples", "other_triples")),
        ("products", pa.map_(pa.string(), pa.string())),
    ]
)


def changed() -> list[tuple[str, Settings]]:
    """Settings of which one differs from the default ones, for each of them."""
    plain = Settings("bundle")
    found = [(name, replace(plain, **{name: value})) for name, value in OTHER.items()]
    columns = [(name, replace(plain, columns=ColumnNames(**{name: value}))) for name, value in OTHER_COLUMNS.items()]
    return [*found, *columns]


@pytest.mark.parametrize(("name", "settings"), changed(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_plan_records_every_setting(name: str, settings: Settings) -> None:
    recorded = json.loads(json.dumps(settings.to_plan()))
    assert recorded != json.loads(json.dumps(Settings("bundle").to_plan()))
    assert from_plan(Settings, recorded, "_plan.json") == settings


RECORDED = json.loads(json.dumps(Settings("b").to_plan()))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "another version wrote its settings ('bundle'"),
        ({**RECORDED, "colour": "red"}, "another version wrote its settings ('colour')"),
        ({**RECORDED, "protocol": "mine"}, "protocol is 'mine'; write one of paper, nlgi_eval"),
        ({**RECORDED, "columns": {**RECORDED["columns"], "text": 1}}, "text is 1"),
    ],
)
def test_settings_that_cannot_be_are_named_with_their_plan(content: Any, named: str) -> None:
    with pytest.raises(OutputError) as caught:
        from_plan(Settings, content, "out/_plan.json")
    assert named in str(caught.value) and "out/_plan.json" in str(caught.value)


def test_what_a_shard_depends_on_has_every_setting(tmp_path: Path) -> None:
    """Two outputs that differ in a setting never have one fingerprint; the exceptions have their reason."""
    labels = ("contradiction", "neutral", "entailment")
    make_bundle(tmp_path / "bundle", precisions=("int8", "fp32"), labels=labels)
    make_bundle(tmp_path / "other", precisions=("int8", "fp32"), labels=labels[::-1])
    (tmp_path / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')

    def fingerprint(settings: Settings) -> Fingerprint:
        templates = settings.templates and str(tmp_path / settings.templates)
        settings = replace(settings, bundle=str(tmp_path / settings.bundle), templates=templates)
        with Scorer(**settings.arguments()) as scorer:
            shard = make_shard("a.parquet", columns=find_columns(SCHEMA, settings.columns).shape)
            signed = scorer.full_signature
            return make_plan([shard], signed.line, signature_parts=signed.parts).fingerprint(shard)

    plain = fingerprint(Settings("bundle"))
    same = {name for name, settings in changed() if fingerprint(settings) == plain}
    assert same == NOT_IN_THE_OUTPUT.keys()
