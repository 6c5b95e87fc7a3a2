"""Which form of a precision a device runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import BundleError, CallError, DeviceError, ScorerError
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from scorer.inference.device import PACKED, PADDED, device
from scorer.inference.engine import DeviceReport
from scorer.inference.session import VariantOnDevice, variants_for
from scorer.inference.verification import open_engine
from tests.bundles import edit_manifest, make_bundle, variant
from tests.inference.fake_cuda import install

PREFERRED, FALLBACK = "PackedMultiHeadAttention sdpa_kernel=2", "Attention"


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with fp32, and fp16 in its two forms; its packed graph is only opened."""
    path = make_bundle(tmp_path_factory.mktemp("forms") / "tiny", precisions=("fp32", "fp16"))
    shutil.copy(path / "model.fp16.onnx", path / "model.fp16.packed.onnx")
    packed = variant(path / "model.fp16.packed.onnx", "fp16", layout="packed")
    variants = json.loads((path / "bundle.json").read_text())["variants"]
    edit_manifest(path, variants=variants | {"fp16.packed": packed})
    return path


def test_the_forms_of_a_precision_follow_the_device(forms: Path) -> None:
    opened = Bundle.load(forms)

    def chosen(kind: str, precision: str, **options: Any) -> list[VariantOnDevice]:
        return variants_for(device(kind), opened, precision=precision, threads=1, **options)

    assert [one.attention for one in chosen("cuda", "fp16")] == [PREFERRED, FALLBACK]
    assert [one.variant for one in chosen("cuda", "fp16", layout="packed", attention=PREFERRED)] == ["fp16.packed"]
    assert [one.variant for one in chosen("cuda", "auto")] == ["fp16.packed", "fp16", "fp32"]
    assert [one.variant for one in chosen("cpu", "fp16")] == ["fp16"]
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
