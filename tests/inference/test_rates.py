"""Measured rates of a bundle, kept between commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.inference.rates import MeasuredRate, best_rate, keep_rate
from scorer.inference.verification import cache_folder


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def rate(device: str, tokens_per_s: float, precision: str = "fp16") -> MeasuredRate:
    return MeasuredRate(device=device, precision=precision, tokens_per_s=tokens_per_s)


def test_the_best_rate_is_of_this_bundle_and_the_newest_of_its_device() -> None:
    assert best_rate("a" * 64) is None
    for one in (rate("cuda A", 900.0), rate("cuda A", 500.0), rate("cuda B", 700.0), rate("cpu", 10.0, "int8")):
        keep_rate("a" * 64, one)
    keep_rate("b" * 64, rate("cuda C", 9e9))
    assert best_rate("a" * 64) == rate("cuda B", 700.0)


def test_what_cannot_be_read_or_kept_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_rate("a" * 64, rate("cpu", 10.0))
    for name, content in (("half", b'{"schema": 1, "dev'), ("other", b'{"schema": 9}'), ("long", b" " * 9999)):
        (cache_folder() / f"{'a' * 64}-rate-{name}.json").write_bytes(content)
    assert best_rate("a" * 64) == rate("cpu", 10.0)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    keep_rate("a" * 64, rate("cpu", 10.0))
    assert best_rate("a" * 64) is None
