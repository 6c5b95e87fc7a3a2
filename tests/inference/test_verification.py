"""Verification of a variant: once; what is kept of it; the budget chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.errors import BundleError, DeviceError
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from scorer.inference.device import KINDS, parse_device
from scorer.inference.engine import DeviceReport, Engine
from scorer.inference.session import OutOfMemoryError, VariantOnDevice
from scorer.inference.verification import choose_budget, open_engine
from scorer.system.codec import decode
from tests.bundles import make_bundle
from tests.faults import hostile_graphs as graphs
from tests.inference.wrapping import with_row

USUAL = KINDS["cpu"].token_budgets[0]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variants that are measured, in order."""
    variants: list[str] = []
    measure = verification.measure

    def recorded(engine: Engine, budget: int | None) -> DeviceReport:
        variants.append(engine.use.variant)
        return measure(engine, budget)

    monkeypatch.setattr(verification, "measure", recorded)
    return variants


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "d2t-scorer"


def start(bundle: Path, **options: Any) -> Engine:
    """What a scorer does as it starts."""
    with open_engine(Bundle.load(bundle), device="cpu", **options) as engine:
        return engine


def test_each_variant_is_measured_once_in_this_process(tiny: Path, kept: Path, measured: list[str]) -> None:
    first = start(tiny, precision="int8")
    assert first.report is not None and first.computed > 0 and measured == ["int8"]
    assert first.grid.token_budget == first.report.token_budget
    again = start(tiny, precision="int8")
    assert again.report == first.report and again.computed == 0, "the probes ran a second time"
    start(tiny, precision="int8", token_budget=first.report.token_budget)
    assert measured == ["int8"], "the budget that was chosen is verified"
    start(tiny, precision="int8", threads=3)  # numbers and speed may be others
    assert measured == ["int8", "int8"]


def test_fp32_is_measured_once_where_it_may_answer_for_another_variant(
    tiny: Path, kept: Path, measured: list[str]
) -> None:
    for _ in range(2):
        start(tiny, precision="int8", exact=True)
        assert measured == ["int8", "fp32"]


def test_the_files_of_a_variant_are_hashed_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scorer.inference import bundle as module

    start(tiny, precision="fp32")
    hashed, check = list[str](), module.check_file

    def recorded(folder: Path, name: str, expected: str) -> Path:
        hashed.append(name)
        return check(folder, name, expected)

    monkeypatch.setattr(module, "check_file", recorded)
    start(tiny, precision="fp32")
    assert sorted(hashed) == ["model.fp32.onnx", "probes.parquet", "tokenizer.json"]


def test_fp32_that_contradicts_the_checkpoint_does_not_stand_in(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "b", precisions=("fp32", "int8"), bad={"fp32": ("The", 9.0)})
    with pytest.raises(BundleError, match="the fp32 variant on cpu gives the checkpoint's label on only"):
        open_engine(Bundle.load(path), device="cpu", precision="int8", exact=True)


def test_a_cache_that_cannot_be_written_is_said(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    said: list[str] = []
    assert start(tiny, precision="fp32", warn=said.append).report is not None
    assert f"cannot be kept in {tmp_path / 'file'}" in said[-1] and "XDG_CACHE_HOME" in said[-1]


REPORT = {"schema": 1, "probes": 32, "agreement": 1.0, "bound": 0.0, "invariance_error": 0.0, "token_budget": 1024}


@pytest.mark.parametrize("change", [{"agreement": float("nan")}, {"token_budget": "1024"}, {"schema": 2}], ids=repr)
def test_a_report_of_the_wrong_form_is_measured_again(
    tiny: Path, kept: Path, measured: list[str], change: dict[str, Any]
) -> None:
    start(tiny, precision="fp32", token_budget=1024)
    (path,) = kept.iterdir()
    path.write_text(json.dumps(REPORT | change))
    report = start(tiny, precision="fp32", token_budget=1024).report
    assert measured == ["fp32", "fp32"]
    assert report is not None and report.probes == 32 and report.agreement == 1.0
    assert decode(path.read_bytes(), DeviceReport, path.name) == report


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (graphs.narrow, r"logits of the shape \(\d+, 2\) and type float32 for \d+ pairs"),
        (graphs.whole_numbers, r"logits of the shape \(\d+, 3\) and type int64"),
        (graphs.out_of_bounds, r"a call of the model failed: \[ONNXRuntimeError\].*Gather"),
    ],
)
def test_a_graph_that_gives_no_logits(tmp_path: Path, change: graphs.Change, message: str) -> None:
    with pytest.raises((BundleError, DeviceError), match=message) as found:
        start(graphs.bundle_with(tmp_path / "b", change))
    assert "\n" not in str(found.value)


FULL = "CUDA failure 2: out of memory"


@pytest.mark.parametrize(
    ("costs", "timed", "chosen"),
    [
        ({512: 1.0, 1024: 2.0, 2048: 2.0, 4096: 2.0}, True, 512),
        ({512: 1.0, 1024: 1.02, 2048: 1.02, 4096: 1.02}, True, USUAL),
        ({512: 2.0, 1024: 1.5, 2048: 1.0, 4096: FULL}, True, 2048),
        ({4096: FULL, 2048: 1.0, 1024: 1.0}, False, 2048),
    ],
)
def test_the_fastest_budget_is_chosen_or_the_first_that_fits(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, costs: dict[int, float | str], timed: bool, chosen: int
) -> None:
    now, called = [0.0], list[int]()

    def call(feed: dict[str, np.ndarray], rows: int) -> None:
        """Time passes only here."""
        ids, lengths = feed["input_ids"], feed["attention_mask"].sum(axis=1)
        assert rows == len(ids) and lengths.min() >= 32 and lengths.max() < 64
        called.append(min(costs, key=lambda budget: abs(budget - ids.size)))
        assert 0 <= called[-1] - ids.size < ids.shape[1], "as full as whole pairs allow"
        if isinstance(cost := costs[called[-1]], str):
            raise OutOfMemoryError(cost)
        now[0] += cost * ids.size

    monkeypatch.setattr(verification.time, "perf_counter", lambda: now[0])
    with Engine(VariantOnDevice(Bundle.load(tiny), "fp32", parse_device("cpu"), 1), USUAL) as engine:
        with_row(monkeypatch, "cpu", is_host=timed, token_budgets=KINDS["cpu"].token_budgets if timed else (*costs,))
        monkeypatch.setattr(engine.session, "run", call)
        probes = engine.bundle.probes()
        assert choose_budget(engine, engine.encode_pairs(probes.premises, probes.hypotheses)) == chosen
    assert set(called) == set(costs) if timed else len(called) == 2
