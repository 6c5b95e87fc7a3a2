"""What a run stores: every kind survives encoding, and one file of each kind is read as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.inference.bundle import Manifest
from scorer.inference.engine import DeviceReport
from scorer.scoring.summary import RunSummary
from scorer.storage.receipts import FailedShard, Receipt
from scorer.storage.run_plan import Plan
from scorer.system.codec import decode, encode, seal, unseal
from tests.stored_values import values_of

FIXTURES = Path(__file__).parent / "fixtures"
OF_INFERENCE = Path(__file__).parents[1] / "inference" / "fixtures"
KINDS: dict[str, Any] = {"plan.json": Plan, "run.json": RunSummary, "receipt.json": Receipt, "failed.json": FailedShard}


def read(data: bytes, kind: Any, where: str = "x") -> Any:
    return unseal(data, kind, where) if kind is Receipt else decode(data, kind, where)


def written(kept: Any) -> bytes:
    return seal(kept) if isinstance(kept, Receipt) else encode(kept, indent=1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other work may take the processors
@given(st.one_of(*map(values_of, KINDS.values())))
def test_what_is_stored_survives_encoding(stored: Any) -> None:
    data = written(stored)
    data.decode("utf-8")
    assert read(data, type(stored)) == stored


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *((FIXTURES / name, kind) for name, kind in KINDS.items()),
        (OF_INFERENCE / "classifier.json", Manifest),
        (OF_INFERENCE / "report.json", DeviceReport),
    ],
)
def test_a_file_of_each_kind_is_read_and_written_again(path: Path, kind: Any) -> None:
    assert written(read(path.read_bytes(), kind)) + b"\n" == path.read_bytes()
