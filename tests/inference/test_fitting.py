"""Batches that do not fit the memory of a GPU, with a CUDA that stands in for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.status import OUT_OF_MEMORY, SCORED
from tests.inference.fake_cuda import FakeCuda, install

SMALLER = "memory.enable_memory_arena_shrinkage"
FULL = "Available memory of 1 is smaller than requested bytes of 2"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    return install(monkeypatch)


def shrinks(options: Any) -> str:
    """The arena that a call shrinks."""
    try:
        return str(options.get_run_config_entry(SMALLER))
    except RuntimeError:
        return ""


def ask(engine: Engine, texts: list[str]) -> np.ndarray:
    n = len(texts)
    work = engine.prepare(texts, np.zeros(n, np.int32), np.arange(n, dtype=np.int32))
    return engine.run(work).status


def test_after_a_failure_calls_are_smaller_and_the_arena_shrinks(fake: FakeCuda, tiny: Path) -> None:
    said: list[str] = []
    with Engine(Bundle.load(tiny), device="cuda", precision="fp32", warn=said.append, in_smoke_test=True) as engine:
        first = len(fake.runs)
        failing = iter([FULL])
        fake.fail = lambda options, call: next(failing, None)
        assert (ask(engine, ["a", "b", "c", "d"]) == SCORED).all()
        assert [shrinks(options) for _, options in fake.runs[first:]] == ["", "gpu:0", ""]
        assert len(said) == 1 and "from here on batches have at most" in said[0]
        assert len(fake.options) == 2, "the device and the model: nothing was opened again"
        first = len(fake.runs)
        assert (ask(engine, ["a", "b", "c", "d"]) == SCORED).all()
        assert len(fake.runs) == first + 2, "what did not fit is not tried again"


def test_the_session_is_opened_again_once_and_then_the_pair_has_no_answer(fake: FakeCuda, tiny: Path) -> None:
    said: list[str] = []
    with Engine(Bundle.load(tiny), device="cuda", precision="fp32", warn=said.append, in_smoke_test=True) as engine:
        opened = len(fake.options)
        fake.fail = lambda options, call: FULL if call > 1 else None  # all but the call that shows that it starts
        assert (ask(engine, ["a"]) == OUT_OF_MEMORY).all()
        assert len(fake.options) == opened + 1
        assert (ask(engine, ["b"]) == OUT_OF_MEMORY).all()
        assert len(fake.options) == opened + 1
        assert ["opened again" in line for line in said] == [True, False, False]
