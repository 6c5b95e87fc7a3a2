from __future__ import annotations

import pytest

from benchmarks.speed.matrix_graphs import FOLDER, graphs
from scorer.inference import verification
from scorer.inference.device import Device
from scorer.inference.verification import matrix_rate
from tests.inference.wrapping import with_row


def test_graphs_that_ship_are_those_that_the_script_writes() -> None:
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == graphs()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_rate_counts_the_operations_of_a_call(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    with_row(monkeypatch, "cpu", matrix=64)
    monkeypatch.setattr(verification.time, "perf_counter", lambda: next(clock))
    assert matrix_rate(Device("cpu"), precision, 1) == 2 * 64**3
