"""A DeBERTa of a usual size, with random weights: exported whole, and kept within the agreed parity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from export import export_bundle
from scorer.inference.bundle import Bundle


@pytest.mark.slow
def test_a_usual_size_exports(tmp_path: Path) -> None:
    """Its graph is the least fused one; tests/export/test_random_init.py exports roberta-large."""
    name = "deberta-v3-small"
    bundle = Bundle.load(export_bundle(name, tmp_path / name, random_init=True, log=lambda _: None))
    variants = json.loads((bundle.path / "bundle.json").read_text())["variants"]
    assert {"fp32", "fp16", "int8"} <= set(variants)
    assert all(v["parity"] is None or v["parity"]["label_agreement"] >= 0.99 for v in variants.values())
    assert variants["fp32"]["parity"]["label_agreement"] == 1
    for precision in ("fp32", "int8"):
        assert bundle.variant(precision).is_file()
