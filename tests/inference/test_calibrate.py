from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scorer.errors import DeviceError
from scorer.inference import calibrate as module
from scorer.inference.bundle import Bundle
from scorer.inference.calibrate import measure_budget
from scorer.inference.devices import KINDS
from scorer.inference.engine import Engine
from scorer.inference.model_session import OutOfMemoryError

USUAL = KINDS["cpu"].token_budgets[0]


@pytest.fixture
def engine(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Engine(Bundle.load(tiny), device="cpu", precision="fp32")
    for kept in (tmp_path / "d2t-scorer").iterdir():  # by the smoke test of the first use
        kept.unlink()
    yield made
    made.close()


class Clock:
    """Time that passes only while the model is called: ``costs`` by tokens of a batch, or an error of the runtime."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch, costs: dict[int, float | str]) -> None:
        self.now, self.calls, self.costs = 0.0, 0, costs
        monkeypatch.setattr(module.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(engine.session, "run", self.call)

    def call(self, feed: dict[str, np.ndarray], rows: int) -> None:
        ids, mask = feed["input_ids"], feed["attention_mask"]
        assert rows == len(ids)
        assert ids.shape == mask.shape and mask.sum(axis=1).min() >= 32 and mask.sum(axis=1).max() <= 128
        self.calls += 1
        budget = min(self.costs, key=lambda budget: abs(budget - ids.size))
        assert 0 <= budget - ids.size < ids.shape[1]  # as full as whole pairs allow
        cost = self.costs[budget]
        if isinstance(cost, str):
            raise OutOfMemoryError(cost) if "memory" in cost else DeviceError(cost)
        self.now += cost * ids.size


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [
        ({512: 1.0, 1024: 2.0, 2048: 2.0, 4096: 2.0}, 512),
        ({512: 1.0, 1024: 1.02, 2048: 1.02, 4096: 1.02}, USUAL),
        ({512: 2.0, 1024: 1.5, 2048: 1.0, 4096: "CUDA failure 2: out of memory"}, 2048),
    ],
)
def test_the_fastest_budget_is_chosen(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, costs: dict[int, float | str], chosen: int
) -> None:
    clock = Clock(engine, monkeypatch, costs)
    assert measure_budget(engine) == chosen
    assert clock.calls >= len(costs)
