"""Sessions, forms of a precision, and batches that do not fit the memory, with a CUDA that stands in for one
(:class:`.FakeCuda`); the table of devices."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.errors import BundleError, CallError, DeviceError, ScorerError
from scorer.inference import session, verification
from scorer.inference.bundle import Bundle
from scorer.inference.device import PACKED, PADDED, Device, Hardware, is_out_of_memory, parse_device
from scorer.inference.diagnosis import conflicting_wheels
from scorer.inference.engine import DeviceReport, Engine
from scorer.inference.session import VariantOnDevice, resolve_device, variants_for
from scorer.inference.verification import keep_report, measure, open_engine, report_path
from scorer.status import OUT_OF_MEMORY, SCORED
from tests.bundles import edit_manifest, make_bundle, variant
from tests.inference.wrapping import FakeCuda, install

SMALLER = "memory.enable_memory_arena_shrinkage"
FULL = "Available memory of 1 is smaller than requested bytes of 2"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    return install(monkeypatch)


def on_cuda(bundle: Path, **options: Any) -> Engine:
    """Not verified: the child process of that would have no device that stands in for one."""
    on, warn = resolve_device("cuda"), options.pop("warn", lambda message: None)
    use, *_ = variants_for(on, Bundle.load(bundle), threads=1, **options)
    return Engine(use, on.spec.token_budgets[0], warn=warn)


def ask(engine: Engine, texts: str) -> list[int]:
    """The status of a pair of the first letter with each."""
    n = len(texts)
    work = engine.encode(list(texts), np.zeros(n, np.int32), np.arange(n, dtype=np.int32))
    return engine.predict(work).status.tolist()


def test_auto_is_the_gpu_and_opens_one_session(fake: FakeCuda) -> None:
    assert str(resolve_device("auto")) == str(resolve_device("cuda")) == "cuda:0"
    assert len(fake.options) == 1
    assert len(fake.runs) == 1, "a session that was not called has not shown that it starts"


@pytest.fixture
def known(fake: FakeCuda, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """A bundle whose fp32 variant was verified on the GPU before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bundle = Bundle.load(tiny)
    report = DeviceReport(probes=32, agreement=1.0, bound=0.0, invariance_error=0.0, token_budget=4096)
    keep_report(VariantOnDevice(bundle, "fp32", parse_device("cuda"), 1), None, report, pytest.fail)
    return bundle


def test_a_known_variant_opens_one_session_and_makes_no_call(fake: FakeCuda, known: Bundle) -> None:
    with open_engine(known) as engine:
        assert (engine.device.kind, engine.grid.token_budget) == ("cuda", 4096)
        assert len(fake.options) == 1 and not fake.runs


def test_auto_passes_over_a_known_device_that_does_not_start_any_more(
    fake: FakeCuda, known: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = session.create_session

    def refuse(model: Path, on: Device, *given: Any) -> Any:
        if on.kind == "cuda":
            raise DeviceError("no driver")
        return create(model, on, *given)

    monkeypatch.setattr(session, "create_session", refuse)
    said: list[str] = []
    with open_engine(known, precision="fp32", warn=said.append) as engine:
        assert engine.device.kind == "cpu" and "cuda is not used: no driver" in said
    with pytest.raises(DeviceError, match="no driver"):
        open_engine(known, device="cuda")


def test_int8_is_refused_on_a_gpu_with_the_reason(fake: FakeCuda, tiny: Path, tmp_path: Path) -> None:
    with on_cuda(tiny) as engine:
        assert engine.precision == "fp32"
    alone = make_bundle(tmp_path / "b", precisions=("int8",))
    for bundle, precision in ((tiny, "int8"), (alone, "auto")):
        with pytest.raises(DeviceError, match="precision int8 does not run on cuda:0: it is made for the integer"):
            on_cuda(bundle, precision=precision)


def test_one_thread_makes_all_calls_of_a_gpu(fake: FakeCuda, tiny: Path) -> None:
    with on_cuda(tiny) as engine:
        before = len(fake.runs)
        measure(engine, engine.grid.token_budget)
        assert {thread for thread, _ in fake.runs[before:]} == {"call_0"}


def shrinks(options: Any) -> str:
    """The arena that a call shrinks."""
    try:
        return str(options.get_run_config_entry(SMALLER))
    except RuntimeError:
        return ""


def test_after_a_failure_calls_are_smaller_and_the_arena_shrinks(fake: FakeCuda, tiny: Path) -> None:
    said: list[str] = []
    with on_cuda(tiny, warn=said.append) as engine:
        first, opened = len(fake.runs), len(fake.options)
        failing = iter([FULL])
        fake.fail = lambda options, call: next(failing, None)
        assert ask(engine, "abcd") == [SCORED] * 4
        assert [shrinks(options) for _, options in fake.runs[first:]] == ["", "gpu:0", ""]
        assert len(said) == 1 and "from here on batches have at most" in said[0]
        first = len(fake.runs)
        assert ask(engine, "abcd") == [SCORED] * 4
        assert len(fake.runs) == first + 2, "what did not fit is not tried again"
        assert len(fake.options) == opened, "nothing was opened again"


def test_a_pair_that_does_not_fit_alone_has_no_answer(fake: FakeCuda, tiny: Path) -> None:
    said: list[str] = []
    with on_cuda(tiny, warn=said.append) as engine:
        fake.fail = lambda options, call: FULL
        assert ask(engine, "ab") == [OUT_OF_MEMORY] * 2
        assert ["from here on" in line for line in said] == [True, False, False]
        fake.fail = lambda options, call: None
        assert ask(engine, "a") == [SCORED]


def test_reports_are_kept_by_what_numbers_depend_on(tiny: Path) -> None:
    bundle = Bundle.load(tiny)

    def name(on: Device, threads: int = 2, budget: int | None = None, **options: Any) -> str:
        return report_path(VariantOnDevice(bundle, "fp32", on, threads, options), budget).name

    one = Hardware("NVIDIA H200", "GPU-1", "9.0", 141 << 30, 132, "13.2", "9.14.0")
    here = Device("cuda", 0, one)
    assert name(here) == name(Device("cuda", 1, replace(one, uuid="GPU-2")), threads=8)
    others = [Device("cuda", 0, replace(one, **change)) for change in ({"cudnn": "9.15.0"}, {"name": "NVIDIA H100"})]
    assert len({name(here), *map(name, others), name(here, sdpa_kernel="16")}) == 4
    assert len({name(Device("cpu"), threads, budget) for threads in (1, 2) for budget in (None, 1024)}) == 4


def _wheel(folder: Path, name: str) -> None:
    info = folder / f"{name.replace('-', '_')}-1.31.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.31.1\n")


def test_wheels_conflict_in_one_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "kit"), str(tmp_path / "site")])
    _wheel(tmp_path / "site", "onnxruntime")
    _wheel(tmp_path / "kit", "onnxruntime-gpu")
    assert conflicting_wheels() == [], "the second folder is shadowed as a whole"
    _wheel(tmp_path / "kit", "onnxruntime")
    assert conflicting_wheels() == ["onnxruntime", "onnxruntime-gpu"]


@pytest.mark.parametrize("asked", ["cpu:0", "cuda:", "cuda:-1", "cuda:x", "cuda:²", "gpu", ""])
def test_devices_are_named_by_kind_and_number(asked: str) -> None:
    assert (parse_device("cuda").index, parse_device("cuda:3").index) == (0, 3)
    with pytest.raises(DeviceError, match="is not known; choose from auto, cpu, cuda, cuda:N"):
        parse_device(asked)


@pytest.mark.parametrize(
    "message", ["CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED", "CUDA failure 2: out of memory", "std::bad_alloc"]
)
def test_failures_for_want_of_memory(message: str) -> None:
    assert is_out_of_memory(RuntimeError(message))


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
        return variants_for(parse_device(kind), opened, precision=precision, threads=1, **options)

    assert [one.attention for one in chosen("cuda", "fp16")] == [PREFERRED, FALLBACK]
    assert [one.variant for one in chosen("cuda", "fp16", attention=PREFERRED)] == ["fp16.packed"]
    assert [one.variant for one in chosen("cuda", "auto")] == ["fp16.packed", "fp16", "fp32"]
    assert [one.variant for one in chosen("cpu", "fp16")] == ["fp16"]
    with pytest.raises(DeviceError, match="the plan records the attention 'Other'"):
        chosen("cuda", "fp16", attention="Other")


@pytest.mark.parametrize("failure", [BundleError("SIGSEGV"), DeviceError("no kernel image"), CallError("CUDNN_FE")])
def test_the_fallback_is_taken_and_the_reason_is_said(
    forms: Path, monkeypatch: pytest.MonkeyPatch, failure: ScorerError
) -> None:
    """On a GPU that stands in for one, where the packed form does not pass."""
    install(monkeypatch)
    failing, tried, said = {PREFERRED}, list[str](), list[str]()

    def report(engine: Engine, *others: Any) -> DeviceReport:
        tried.append(engine.use.attention)
        if engine.use.attention in failing:
            raise failure
        return DeviceReport(probes=1, agreement=1.0, bound=0.0, invariance_error=0.0, token_budget=4096)

    monkeypatch.setattr(verification, "verify", report)
    with open_engine(Bundle.load(forms), device="cuda", warn=said.append) as engine:
        assert (engine.use.layout, engine.fallback_reason) == (PADDED, str(failure))
    assert said == [f"tiny fp16.packed on cuda:0 is not used, fp16 is tried: {failure}"]
    assert tried == [PREFERRED, FALLBACK]
    failing.clear()  # the device was full, say
    with open_engine(Bundle.load(forms), device="cuda", warn=said.append) as engine:
        assert (engine.use.layout, engine.fallback_reason) == (PACKED, "")
