"""The GPU bench without a GPU: its settings, its runners on the CPU, and what it says of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.runners import ours
from benchmarks.sample import write_sample
from scorer.inference.bundle import Bundle
from tests.bundles import make_bundle
from tests.inference.packed_graph import make_packed_bundle


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("gpu-bench")
    bundle = make_bundle(folder / "tiny", max_length=512)
    sample = write_sample(folder / "sample", Bundle.load(bundle), pairs=40, systems=1, seed=1)
    return {"bundle": str(bundle), "pairs": sample.pairs_file, "rows": sample.rows_file, "device": "cpu", "threads": 1}


def with_options(spec: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**spec, "options": {"precision": "fp32", **options}}


def test_calls_that_hold_more_than_their_pairs_give_the_same_answers(spec: dict[str, Any], tmp_path: Path) -> None:
    """The bare session of the packed layout, with a packed graph that a CPU runs."""
    bundle = make_packed_bundle(tmp_path / "packed", max_length=512)
    options = {"precision": "fp16", "in_smoke_test": True, "token_budget": 2048}
    chosen: dict[str, Any] = {}
    asked = {**spec, "bundle": str(bundle)}
    packed = {"layout": "packed"}
    expected, _ = ours.bare_session({**asked, "options": {**options, "layout": "padded"}}, {})()
    found, _ = ours.bare_session({**asked, "options": {**options, **packed}}, chosen)()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert (chosen["layout"], chosen["attention"]) == ("packed", "PackedMultiHeadAttention")
    assert 0 <= chosen["padding"] < 1
