from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.evaluation.challenge.build import ABOUT
from tests.run.calls import scorer


def test_keywords_see_no_hallucination() -> None:
    found = json.loads(scorer("challenge", "keywords", "--per-kind", 8, "--json").stdout)
    kinds = {kind["kind"]: kind for kind in found["kinds"]}
    assert kinds["omission"]["right"]["value"] == 1.0
    assert kinds["extra fact"]["right"]["value"] == kinds["role swap"]["right"]["value"] == 0.0
    assert found["signature"] == "baseline:keywords"


def test_slots_judge_restaurants_alone_and_fail_under_is_an_exit_code() -> None:
    shown = scorer("challenge", "e2e-slots", "--per-kind", 16, "--fail-under", 0.99, code=1)
    assert "pairs are left out, because this metric cannot judge their facts" in shown.stdout
    assert "is below 0.99 (--fail-under)" in shown.stderr
    assert "number by one" not in shown.stdout
    scorer("challenge", "e2e-slots", "--per-kind", 16, "--fail-under", 0.1)


@pytest.mark.slow
def test_a_bundle_is_challenged_without_errors() -> None:
    found = json.loads(scorer("challenge", "embedded", "--per-kind", 1, "--json").stdout)
    assert found["rows"] > 40 and found["errors"] == 0 and found["left_out"] == 0
    assert found["signature"].startswith("model:embedded")
    assert len(found["checks"]) == 4


def test_the_texts_can_be_written(tmp_path: Path) -> None:
    scorer("challenge", "--write", tmp_path / "set.parquet", "--per-kind", 2)
    assert pq.read_table(tmp_path / "set.parquet").num_rows == 4 * len(ABOUT)


def test_what_cannot_be_challenged_exits_2() -> None:
    assert "pass a BUNDLE or a baseline" in scorer("challenge", code=2).stderr
    assert "apply to bundles" in scorer("challenge", "keywords", "--precision", "fp32", code=2).stderr
