"""Models that give no numbers, the same numbers, or none at all for want of memory."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from tests.bundles import make_bundle
from tests.faults import harness
from tests.faults.harness import run, summary
from tests.faults.hostile_graphs import bundle_with, vast
from tests.faults.test_anything import Naive, Row, assert_as_naive, struct_rows
from tests.inference.wrapping import Wrapped, wrap_sessions

SHARE = 10
"""One row in so many holds the token that the model cannot stand."""


def shard(path: Path) -> list[bool]:
    """Write a shard; tells which rows hold the token."""
    bad = [i % SHARE == 3 for i in range(100)]
    table = harness.rows(100)
    texts = [f"A is pub number {i}" + (" @" if at else "") for i, at in enumerate(bad)]
    pq.write_table(table.set_column(0, "text", pa.array(texts, pa.string())), path)
    return bad


@pytest.mark.parametrize(
    ("value", "precisions"),
    [*((float(value), ("fp32",)) for value in ("nan", "inf", "-inf")), (float("nan"), ("fp32", "int8"))],
)
def test_what_is_not_finite_is_an_error_of_its_row(tmp_path: Path, value: float, precisions: tuple[str, ...]) -> None:
    made = make_bundle(tmp_path / "b", precisions=precisions, bad=dict.fromkeys(precisions, ("@", value)))
    bad = shard(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out", made, "--precision", precisions[-1])
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    errors = found["error"].to_pylist()
    assert [error is not None and error.startswith("not_finite") for error in errors] == bad
    assert [fine is None for fine in found["fine"].to_pylist()] == bad
    harness.assert_equation(tmp_path / "out")
    assert summary(tmp_path / "out")["rows"]["errors"] == {"not_finite": 100 // SHARE}


def test_what_int8_cannot_say_fp32_says(tmp_path: Path) -> None:
    made = make_bundle(tmp_path / "b", precisions=("fp32", "int8"), bad={"int8": ("@", float("nan"))})
    shard(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out", made, "--precision", "int8")
    run(tmp_path / "in.parquet", tmp_path / "whole", made, "--precision", "fp32")
    assert pq.read_table(tmp_path / "out" / "in.parquet")["error"].null_count == 100
    for column in ("fine", "omitted"):
        one, other = (pq.read_table(tmp_path / o / "in.parquet")[column].to_pylist() for o in ("out", "whole"))
        assert one == other


class Full(Wrapped):
    """A session on a device whose memory takes only so many tokens at once."""

    def __init__(self, session: Any, tokens: int) -> None:
        super().__init__(session)
        self._tokens = tokens

    def run(self, names: Any, feed: dict[str, Any], options: Any = None) -> Any:
        if feed["input_ids"].size > self._tokens:
            raise RuntimeError("Failed to allocate memory for requested buffer")
        return self.inner.run(names, feed, options)


@pytest.mark.parametrize("limited", [False, True])
def test_a_model_that_takes_all_memory_costs_its_rows(tmp_path: Path, limited: bool) -> None:
    """A call that asks for more than there is: by its own size, or by what this process may have."""
    made = bundle_with(tmp_path / "b", vast(1 << 31 if limited else 1 << 44))
    data = tmp_path / "in.parquet"
    bad = shard(data)
    limits = {resource.RLIMIT_AS: 6 << 30} if limited else {}
    harness.finish(harness.launch(data, tmp_path / "out", made, limits=limits))
    errors = pq.read_table(tmp_path / "out" / "in.parquet")["error"].to_pylist()
    assert [error is not None and error.startswith("out_of_memory:") for error in errors] == bad
    harness.assert_equation(tmp_path / "out")
    assert summary(tmp_path / "out")["rows"]["errors"] == {"out_of_memory": 100 // SHARE}


def test_a_device_that_is_full_costs_the_longest_rows(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, naive = Scorer(bundle), Naive(bundle)
    given_rows: list[Row] = [([(b"A", b"p", b"o")], b"word " * n) for n in (1, 2, 3, 5, 8, 12, 16)]
    assert_as_naive(whole.score_table(struct_rows(given_rows)), given_rows, naive)
    wrap_sessions(monkeypatch, lambda session: Full(session, 64))
    scorer = Scorer(bundle)
    found = scorer.score_table(struct_rows(given_rows))
    errors = found["error"].to_pylist()
    fit = errors.count(None)
    assert 0 < fit < len(errors)
    assert all(error is None for error in errors[:fit])
    assert all(error.startswith("out_of_memory:") for error in errors[fit:])
    assert_as_naive(found.slice(0, fit), given_rows[:fit], naive)
