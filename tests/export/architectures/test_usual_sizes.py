"""Every family at a usual size, with random weights: exported whole, and kept within the agreed parity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from export import export_bundle
from export.architectures import FAMILIES
from scorer.inference.bundle import Bundle

NAMES = [[one.name for one in family.presets if "tiny" not in one.name][-1] for family in FAMILIES]
"""The smallest usual size of each; tests/export/test_random_init.py exports a large one."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_usual_size_exports(name: str, tmp_path: Path) -> None:
    bundle = Bundle.load(export_bundle(name, tmp_path / name, random_init=True, log=lambda _: None))
    variants = json.loads((bundle.path / "bundle.json").read_text())["variants"]
    assert {"fp32", "fp16", "int8"} <= set(variants)
    assert all(v["parity"] is None or v["parity"]["label_agreement"] >= 0.99 for v in variants.values())
    assert variants["fp32"]["parity"]["label_agreement"] == 1
    for precision in ("fp32", "int8"):
        assert bundle.variant(precision).is_file()
