"""Labels of fp32 from a variant that strays: what is too close to call runs again."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import EXACT_FACTOR, EXACT_PAIRS, Engine, ExactBound, join_bounds
from scorer.inference.verification import open_engine
from scorer.status import SCORED
from tests.inference.wrapping import Wrapped, wrap_sessions

WORDS = [
    "pub", "The Mill", "Blue Spice", "cheap", "French food", "Crowne Plaza", "near", "riverside", "x", "high price",
]  # fmt: skip
TEXTS = [f"{one} {other} {one}" for one in WORDS for other in WORDS]


class Straying(Wrapped):
    """A session whose logits are off by up to ``most``, each pair's by an amount of its own."""

    def __init__(self, session: Any, most: float) -> None:
        super().__init__(session)
        self._most = most

    def run(self, names: list[str], feed: dict[str, np.ndarray], options: Any = None) -> Any:
        logits = self.inner.run(names, feed, options)[0]
        for row, ids in zip(logits, feed["input_ids"], strict=True):
            real = ids[ids != 1].tobytes()  # without padding, so that the amount is the pair's alone
            row += np.random.default_rng(zlib.crc32(real)).uniform(-self._most, self._most, 3).astype(np.float32)
        return [logits]


def pairs_of_texts() -> tuple[np.ndarray, np.ndarray]:
    every = np.arange(len(TEXTS), dtype=np.int32)
    premise, hypothesis = np.meshgrid(every, every[::5])
    return premise.ravel(), hypothesis.ravel()


def labels(engine: Engine) -> tuple[np.ndarray, int]:
    work = engine.encode(TEXTS, *pairs_of_texts())
    answers = engine.predict(work)
    assert (answers.status == SCORED).all()
    return answers.probabilities.argmax(axis=1), work.recomputed


@pytest.mark.parametrize("known", [True, False])
def test_labels_are_those_of_fp32_where_the_variant_s_are_not(
    tiny: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = labels(open_engine(Bundle.load(tiny), device="cpu", precision="fp32"))
    with monkeypatch.context() as straying:
        wrap_sessions(straying, lambda session: Straying(session, 0.4))
        plain = open_engine(Bundle.load(tiny), device="cpu", precision="int8")
        fast = open_engine(Bundle.load(tiny), device="cpu", precision="int8", exact=True)
    without, none = labels(plain)
    assert (without != expected).sum() > 20 and none == 0
    fast.bound = ExactBound(EXACT_PAIRS, 0.4) if known else None
    found, again = labels(fast)
    assert (found == expected).all()
    assert 0 < again < len(expected)
    assert fast.bound is not None and 0.35 < fast.bound.largest <= 0.4
    assert fast.bound.pairs == (EXACT_PAIRS if known else len(expected))


def test_the_bound_is_the_largest_seen_and_at_least_the_probes_until_enough_were() -> None:
    zero = np.zeros((3, 3), np.float32)
    off = zero + np.array([[0.1], [-0.25], [np.nan]], np.float32)
    one = join_bounds(off, zero, at_least=0.5)
    assert one == ExactBound(2, 0.5)
    assert one.margin == 2 * EXACT_FACTOR * 0.5
    assert join_bounds(off, zero, at_least=0.0).largest == 0.25
    many = np.zeros((EXACT_PAIRS, 3), np.float32)
    assert join_bounds(many, many, 0.5, ExactBound(2, 0.25)) == ExactBound(EXACT_PAIRS + 2, 0.25)
