"""Which form of a precision a device runs, with packed graphs that a CPU runs (:mod:`.packed_graph`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.errors import BundleError, CallError, DeviceError, ScorerError
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from scorer.inference.device import PACKED, PADDED, device
from scorer.inference.engine import DeviceReport
from scorer.inference.session import VariantOnDevice, variants_for
from scorer.inference.verification import known_report, open_engine
from tests.inference.fake_cuda import install
from tests.inference.packed_graph import make_packed_bundle

PREFERRED, FALLBACK = "PackedMultiHeadAttention sdpa_kernel=2", "Attention"


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_bundle(tmp_path_factory.mktemp("forms") / "tiny")


def test_the_forms_of_a_precision_follow_the_device(forms: Path) -> None:
    opened = Bundle.load(forms)

    def chosen(kind: str, precision: str, **options: Any) -> list[VariantOnDevice]:
        return variants_for(device(kind), opened, precision=precision, threads=1, **options)

    assert [one.attention for one in chosen("cuda", "fp16")] == [PREFERRED, FALLBACK]
    assert [one.variant for one in chosen("cuda", "fp16", layout="packed", attention=PREFERRED)] == ["fp16.packed"]
    assert [one.variant for one in chosen("cpu", "fp16")] == ["fp16"]
    assert [one.variant for one in chosen("cuda", "fp32")] == ["fp32"]
    with pytest.raises(BundleError, match="has no packed fp32 variant, only"):
        chosen("cuda", "fp32", layout="packed")
    with pytest.raises(DeviceError, match="the plan records the layout padded with the attention 'Other'"):
        chosen("cuda", "fp16", layout="padded", attention="Other")


@pytest.mark.parametrize("failure", [BundleError("SIGSEGV"), DeviceError("no kernel image"), CallError("CUDNN_FE")])
def test_the_fallback_is_taken_and_the_reason_is_said(
    forms: Path, monkeypatch: pytest.MonkeyPatch, failure: ScorerError
) -> None:
    """On a GPU that stands in for one, where the packed form does not pass."""
    install(monkeypatch)
    failing, tried, said = {PREFERRED}, list[str](), list[str]()

    def report(use: VariantOnDevice, *others: Any) -> DeviceReport:
        tried.append(use.attention)
        if use.attention in failing:
            raise failure
        return DeviceReport(probes=1, agreement=1.0, bound=0.0, invariance_error=0.0, token_budget=4096)

    monkeypatch.setattr(verification, "known_report", report)
    with open_engine(Bundle.load(forms), device="cuda", warn=said.append) as engine:
        assert (engine.use.layout, engine.fallback_reason) == (PADDED, str(failure))
    assert said == [f"tiny fp16.packed on cuda:0 is not used, fp16 is tried: {failure}"]
    assert tried == [PREFERRED, FALLBACK]
    failing.clear()  # the device was full, say
    with open_engine(Bundle.load(forms), device="cuda", warn=said.append) as engine:
        assert (engine.use.layout, engine.fallback_reason) == (PACKED, "")


def test_a_packed_variant_is_verified_in_a_process_of_its_own(
    forms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU, which runs this graph: what is asked reaches the process, and its answer comes back."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    use = VariantOnDevice(Bundle.load(forms), "fp16.packed", device("cpu"), 1)
    said: list[str] = []
    report = known_report(use, 1024, said.append)
    assert report is not None and report.agreement == 1.0 and "tiny fp16.packed on cpu" in said[0]
    assert known_report(use, 1024, said.append) == report
    assert len(said) == 1
