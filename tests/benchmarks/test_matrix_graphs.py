from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.matrix_graphs import graphs
from scorer.inference import rate
from scorer.inference.devices import Device
from scorer.inference.rate import matrix_rate, pair_flops
from tests.inference.rows import with_row

LARGE = {"layers": 24, "hidden_size": 1024, "intermediate_size": 4096}


def test_work_of_a_large_encoder() -> None:
    """roberta-large: 604 MFLOP a token, and 98.3 kFLOP for each token attended to."""
    assert pair_flops(LARGE, 1, 0) == pytest.approx(604e6, rel=1e-3)
    assert pair_flops(LARGE, 0, 1) == pytest.approx(98.3e3, rel=1e-3)
    assert pair_flops({}, 1, 1) is None


def test_graphs_that_ship_are_those_that_the_script_writes() -> None:
    folder = Path(rate.__file__).parent / "matrix"
    made = {name: model.SerializeToString(deterministic=True) for name, model in graphs().items()}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == made


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_rate_counts_the_operations_of_a_call(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    with_row(monkeypatch, "cpu", matrix=64)
    monkeypatch.setattr(rate.time, "perf_counter", lambda: next(clock))
    assert matrix_rate(Device("cpu"), precision, 1) == 2 * 64**3
