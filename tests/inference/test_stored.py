"""What this package stores: one file of each kind is read and written as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.inference.facts import DeviceFacts, KeptBudget
from scorer.inference.manifest import EncoderManifest, Manifest
from scorer.system.codec import decode, encode

FIXTURES = Path(__file__).parent / "fixtures"
KINDS: dict[str, Any] = {
    "classifier.json": Manifest,
    "encoder.json": EncoderManifest,
    "facts.json": DeviceFacts,
    "budget.json": KeptBudget,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_each_kind_is_read_and_written_again(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    assert encode(decode(data, KINDS[name], name), indent=1) + b"\n" == data
