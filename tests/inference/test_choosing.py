"""Which layout and which attention a device runs, with packed graphs that a CPU runs (:mod:`.packed_graph`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.errors import BundleError, CallError, DeviceError, ScorerError
from scorer.inference import choosing as module
from scorer.inference.batches import Grid
from scorer.inference.bundle import Bundle
from scorer.inference.cache import Use
from scorer.inference.devices import PADDED, device
from scorer.inference.execution import Execution, candidates
from scorer.inference.facts import read_facts
from scorer.inference.first_use import require_smoke_test
from tests.inference.fake_cuda import install
from tests.inference.packed_graph import make_packed_bundle

PREFERRED, FALLBACK = "PackedMultiHeadAttention sdpa_kernel=2", "Attention"


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_bundle(tmp_path_factory.mktemp("forms") / "tiny")


def test_the_ways_of_a_precision_follow_the_device(forms: Path) -> None:
    opened = Bundle.load(forms)
    assert [way.attention for way in candidates(opened, "fp16", "auto", device("cuda"))] == [PREFERRED, FALLBACK]
    assert [way.variant for way in candidates(opened, "fp16", "auto", device("cpu"))] == ["fp16"]
    assert [way.variant for way in candidates(opened, "fp32", "auto", device("cuda"))] == ["fp32"]
    with pytest.raises(BundleError, match="has no packed fp32 variant, only"):
        candidates(opened, "fp32", "packed", device("cuda"))


@pytest.mark.parametrize("failure", [BundleError("SIGSEGV"), DeviceError("no kernel image"), CallError("CUDNN_FE")])
def test_the_fallback_is_taken_and_the_reason_is_said(
    forms: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: ScorerError
) -> None:
    """On a GPU that stands in for one, with a smoke test that fails."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    install(monkeypatch)
    opened, on = Bundle.load(forms), device("cuda")
    found = candidates(opened, "fp16", "auto", on)
    failing, tried, said = {PREFERRED}, list[str](), list[str]()

    def smoke_test(use: Use, *arguments: Any) -> None:
        tried.append(use.attention)
        if use.attention in failing:
            raise failure

    def choose() -> Execution:
        return module.choose(Use(opened, found[0].variant, on, 1), found, Grid(), None, said.append)

    monkeypatch.setattr(module, "require_smoke_test", smoke_test)
    taken = choose()
    assert (taken.layout, taken.attention, taken.instead) == (PADDED, FALLBACK, str(failure))
    assert said == [f"tiny fp16.packed on cuda:0 does not run, so fp16 is tried: {failure}"]
    assert tried == [PREFERRED, FALLBACK]
    failing.clear()  # the device was full, say
    assert (choose().attention, choose().instead) == (PREFERRED, "")


def test_the_trial_of_a_packed_variant_runs_in_a_process_of_its_own(
    forms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU, which runs this graph: what is asked reaches the smoke test, and its answer comes back."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    opened = Bundle.load(forms)
    use, grid = Use(opened, "fp16.packed", device("cpu"), 1), Grid(token_budget=1024)
    said: list[str] = []
    require_smoke_test(use, opened.variant("fp16.packed"), grid, 1024, said.append)
    facts = read_facts(use, grid)
    assert facts is not None and facts.label_agreement == 1.0 and "tiny fp16.packed on cpu" in said[0]
    require_smoke_test(use, opened.variant("fp16.packed"), grid, 1024, said.append)
    assert len(said) == 1
