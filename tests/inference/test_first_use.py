"""The first use of a variant: in a child of bounded time and memory, once."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import BundleError, DeviceError, ScorerError
from scorer.inference import first_use
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.inference.verify import DeviceFacts, open_verified
from scorer.system.children import Spawned
from scorer.system.codec import decode
from tests.bundles import make_bundle
from tests.faults import hostile_graphs as graphs
from tests.inference.wrapping import with_row
from tests.sweeps import sampled


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Spawned]:
    found: list[Spawned] = []

    def spawn(module: str, arguments: list[str]) -> Spawned:
        found.append(Spawned(module, arguments))
        return found[-1]

    monkeypatch.setattr(first_use, "Spawned", spawn)
    return found


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "d2t-scorer"


def start(bundle: Path, **options: Any) -> Engine:
    """What a scorer does as it starts."""
    engine, _ = open_verified(Bundle.load(bundle), device="cpu", **options)
    engine.close()
    return engine


def test_one_child_for_each_variant_and_none_on_the_second_use(tiny: Path, kept: Path, children: list[Spawned]) -> None:
    for _ in range(2):
        assert start(tiny, precision="int8").calls == 0, "the probes ran a second time"
        assert len(children) == 1
        assert children[0].process.returncode is not None, "it is still there"
    start(tiny, precision="int8", threads=3)  # numbers and speed may be others
    assert len(children) == 2


def test_fp32_that_contradicts_the_checkpoint_does_not_stand_in(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "b", precisions=("fp32", "int8"), bad={"fp32": ("The", 9.0)})
    with pytest.raises(BundleError, match="the fp32 variant on cpu gives the checkpoint's label on only"):
        Engine(Bundle.load(path), device="cpu", precision="int8", exact=True)


def test_a_cache_that_cannot_be_written_costs_one_child_a_process(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[Spawned]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    said: list[str] = []
    for _ in range(2):
        start(tiny, precision="fp32", warn=said.append)
    assert len(children) == 1
    assert sum(f"cannot be kept in {tmp_path / 'file'}" in line and "XDG_CACHE_HOME" in line for line in said) == 1


FACTS = {"schema": 1, "probes": 32, "label_agreement": 1.0, "bound": 0.0, "invariance_error": 0.0, "isolated": True}
DAMAGED: list[Any] = [
    {**FACTS, "label_agreement": float("nan")},
    {**FACTS, "invariance_error": 1.0},
    {**FACTS, "schema": 2},
]


@pytest.mark.parametrize("content", sampled(DAMAGED, 2), ids=repr)
def test_facts_of_the_wrong_form_are_measured_again(
    tiny: Path, kept: Path, children: list[Spawned], content: Any
) -> None:
    start(tiny, precision="fp32")
    (path,) = kept.glob("*-facts-*.json")
    path.write_text(json.dumps(content))
    _, facts = open_verified(Bundle.load(tiny), device="cpu", precision="fp32", token_budget=_budget(kept))
    assert len(children) == 2
    assert facts.probes == 32 and facts.label_agreement == 1.0
    assert decode(path.read_bytes(), DeviceFacts, path.name) == facts


def _budget(kept: Path) -> int:
    (path,) = kept.glob("*-budget-*.json")
    return int(json.loads(path.read_text())["token_budget"])


@pytest.mark.parametrize("content", sampled(["1024", 3], 2), ids=repr)
def test_a_budget_of_the_wrong_form_is_measured_again(
    tiny: Path, kept: Path, children: list[Spawned], content: Any
) -> None:
    start(tiny, precision="fp32")
    (path,) = kept.glob("*-budget-*.json")
    path.write_text(json.dumps({"schema": 1, "token_budget": content}))
    start(tiny, precision="fp32")
    assert len(children) == 2
    assert type(_budget(kept)) is int


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (graphs.narrow, r"logits of the shape \(\d+, 2\) and type float32 for \d+ pairs"),
        (graphs.whole_numbers, r"logits of the shape \(\d+, 3\) and type int64"),
    ],
)
def test_outputs_that_are_no_logits(tmp_path: Path, change: graphs.Change, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        start(graphs.bundle_with(tmp_path / "b", change))


def test_an_error_of_the_runtime_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"a call of the model failed: \[ONNXRuntimeError\].*Gather") as found:
        start(graphs.bundle_with(tmp_path / "b", graphs.out_of_bounds))
    assert "\n" not in str(found.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (graphs.endless(always=True), "was stopped after 6 s without progress"),
        (graphs.growing, "took more than 600 MiB of memory"),
    ],
)
def test_a_graph_that_does_not_end_or_takes_all_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[Spawned], change: graphs.Change, message: str
) -> None:
    monkeypatch.setattr(first_use, "SILENCE_S", 6.0)
    with_row(monkeypatch, "cpu", smoke_test_memory=600 << 20)
    with pytest.raises(BundleError, match=message):
        start(graphs.bundle_with(tmp_path / "b", change))
    assert children[0].process.returncode == -9


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import os; os.abort()", "the process that tried it ended: SIGABRT"),
        ("raise SystemExit('memory allocation of 3200000000 bytes failed')", "exit code 1: memory allocation of"),
        ("print('{' + '[' * 100000)", "said b'{"),
        ('print(\'{"token_budget": 1024, "facts": {"probes": NaN}}\')', "which is not a result"),
        ("print('x' * (2 << 20))", "said too much"),
        ('print(\'{"error": "DeviceError", "message": "no"}\')', "^no$"),
    ],
)
def test_whatever_becomes_of_the_child_is_an_error(
    tiny: Path, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    (tmp_path / "another_trial.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(first_use, "SMOKE_TEST", "another_trial")
    before = threading.active_count()
    with pytest.raises(ScorerError, match=message):
        start(tiny, precision="fp32")
    assert not kept.exists(), "something was kept of it"
    assert threading.active_count() == before
