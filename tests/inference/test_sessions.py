"""Sessions on a device, with a CUDA that stands in for one (:mod:`tests.inference.fake_cuda`)."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.errors import DeviceError
from scorer.inference.batches import Batch, Feed, Work
from scorer.inference.bundle import Bundle
from scorer.inference.cache import Use, entry
from scorer.inference.devices import Device, Hardware
from scorer.inference.engine import Engine
from scorer.inference.sessions import conflicting_wheels, resolve_device
from scorer.status import SCORED
from tests.bundles import make_bundle
from tests.inference.fake_cuda import FakeCuda, install


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    return install(monkeypatch)


def test_auto_is_the_gpu_and_opens_one_session(fake: FakeCuda) -> None:
    assert str(resolve_device("auto")) == "cuda:0"
    assert str(resolve_device("auto")) == str(resolve_device("cuda")) == "cuda:0"
    assert len(fake.options) == 1
    assert len(fake.runs) == 1, "a session that was not called has not shown that it starts"


def test_int8_is_refused_on_a_gpu_with_the_reason(fake: FakeCuda, tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="precision int8 does not run on cuda:0: it is made for the integer"):
        Engine(Bundle.load(tiny), device="cuda", precision="int8", in_smoke_test=True)
    with Engine(Bundle.load(tiny), device="cuda", in_smoke_test=True) as engine:
        assert engine.precision == "fp32"
    alone = make_bundle(tmp_path / "b", precisions=("int8",))
    with pytest.raises(DeviceError, match="has only int8, which does not run on cuda:0"):
        Engine(Bundle.load(alone), device="cuda", in_smoke_test=True)


def test_one_thread_makes_all_calls_of_a_gpu(fake: FakeCuda, tiny: Path) -> None:
    """Sessions are opened, verified and run in it; fp32 standing in for another variant too."""
    from scorer.inference.verify import measure

    with Engine(Bundle.load(tiny), device="cuda", precision="fp32", in_smoke_test=True) as engine:
        before = len(fake.runs)
        measure(engine)
        assert len({thread for thread, _ in fake.runs[before - 1 :]}) == 1
        assert fake.runs[before][0] != "MainThread"


def test_two_calls_wait_in_the_thread_of_the_device(
    fake: FakeCuda, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first one runs, two more are put together and handed over, and no third."""
    with Engine(Bundle.load(tiny), device="cuda", precision="fp32", token_budget=32, in_smoke_test=True) as engine:
        n, feed, made, begun = 6, engine.session.feed, threading.Semaphore(0), []

        def counted(batch: Batch, work: Work) -> Feed:
            made.release()
            return feed(batch, work)

        def wait(options: dict[str, Any], call: int) -> None:
            begun.append(call)
            if len(begun) == 1:
                assert all(made.acquire(timeout=60) for _ in range(3))
                assert not made.acquire(timeout=0.5)

        monkeypatch.setattr(engine.session, "feed", counted)
        fake.fail = wait
        texts = [chr(ord("a") + i) for i in range(n)]
        work = engine.prepare(texts, np.zeros(n, np.int32), np.arange(n, dtype=np.int32))
        assert (engine.run(work).status == SCORED).all() and len(begun) == len(work.batches) == n


def test_facts_are_kept_by_what_numbers_depend_on(tiny: Path) -> None:
    def name(hardware: Hardware, index: int = 0, threads: int = 2, **options: Any) -> str:
        device = Device("cuda", index, hardware.name, hardware)
        return entry(Use(Bundle.load(tiny), "fp32", device, threads, options), "facts").name

    one = Hardware("NVIDIA H200", "GPU-1", "9.0", ("9.0", "132", "13.2", "9.14.0"))
    same = Hardware("NVIDIA H200", "GPU-2", "9.0", ("9.0", "132", "13.2", "9.14.0"))
    assert name(one) == name(same, index=1, threads=8)
    later_cudnn = Hardware("NVIDIA H200", "GPU-1", "9.0", ("9.0", "132", "13.2", "9.15.0"))
    other_name = Hardware("NVIDIA H100", "GPU-1", "9.0", ("9.0", "132", "13.2", "9.14.0"))
    assert len({name(one), name(later_cudnn), name(other_name), name(one, sdpa_kernel="16")}) == 4
    on_cpu = [entry(Use(Bundle.load(tiny), "fp32", Device("cpu"), threads), "facts") for threads in (1, 2)]
    assert on_cpu[0] != on_cpu[1]


def _wheel(folder: Path, name: str) -> None:
    info = folder / f"{name.replace('-', '_')}-1.31.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.31.1\n")


def test_wheels_conflict_in_one_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "kit"), str(tmp_path / "site")])
    _wheel(tmp_path / "site", "onnxruntime")
    assert conflicting_wheels() == []
    _wheel(tmp_path / "kit", "onnxruntime-gpu")
    assert conflicting_wheels() == [], "the second folder is shadowed as a whole"
    _wheel(tmp_path / "kit", "onnxruntime")
    assert conflicting_wheels() == ["onnxruntime", "onnxruntime-gpu"]
