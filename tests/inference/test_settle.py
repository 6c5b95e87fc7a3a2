"""Which layout and which attention a device runs, with packed graphs that a CPU runs (:mod:`.packed_graph`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.common import open_scorer
from scorer.errors import BundleError, CallError, DeviceError
from scorer.inference import settle as module
from scorer.inference.batches import Grid
from scorer.inference.bundle import Bundle
from scorer.inference.cache import Use
from scorer.inference.devices import KINDS, PACKED, PADDED, device
from scorer.inference.engine import Engine
from scorer.inference.execution import Execution, recorded, ways
from scorer.inference.first_use import admit
from scorer.inference.settle import choose
from scorer.inference.verify import measure
from scorer.run.explain import budgets_of_run, explain
from scorer.scoring.output_files import settings_of
from tests.inference.fake_cuda import install
from tests.inference.packed_graph import make_packed_bundle
from tests.inference.rows import with_row

TEXTS = ["The Mill is a pub.", "Blue Spice", "cheap French food " * 6, "near Crowne Plaza Hotel", "x"]
FALLBACKS = KINDS["cuda"].fallbacks


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_bundle(tmp_path_factory.mktemp("forms") / "tiny")


def open_packed(bundle: Path, **options: Any) -> Engine:
    return Engine(Bundle.load(bundle), device="cpu", precision="fp16", layout="packed", on_trial=True, **options)


def test_the_ways_of_a_precision_follow_the_device(forms: Path) -> None:
    opened = Bundle.load(forms)
    assert [way.variant for way in ways(opened, "fp16", "auto", device("cuda"))] == [
        "fp16.packed", "fp16.packed-mha", "fp16",
    ]  # fmt: skip
    assert [way.variant for way in ways(opened, "fp16", "auto", device("cpu"))] == ["fp16"]
    assert [way.variant for way in ways(opened, "fp32", "auto", device("cuda"))] == ["fp32"]
    with pytest.raises(BundleError, match="has no packed fp32 variant, only"):
        ways(opened, "fp32", "packed", device("cuda"))


@pytest.mark.parametrize(
    ("rates", "chosen"), [((100, 90, 80), "a"), ((100, 102, 80), "a"), ((100, 110, 80), "b"), ((100, 90, 120), "c")]
)
def test_the_preferred_way_unless_another_is_faster(rates: tuple[float, ...], chosen: str) -> None:
    found = [(Execution(name, PACKED, "PackedAttention"), rate) for name, rate in zip("abc", rates, strict=True)]
    assert choose(found).variant == chosen


def test_the_packed_layout_gives_the_answers_of_the_padded_one(forms: Path) -> None:
    pairs = [(a, b) for a in range(5) for b in range(5)]
    premise, hypothesis = np.array(pairs, np.int32).T
    with Engine(Bundle.load(forms), device="cpu", precision="fp32", on_trial=True) as padded:
        expected = padded.run(padded.prepare(TEXTS, premise, hypothesis)).probabilities
    with open_packed(forms, token_budget=2048) as engine:
        work = engine.prepare(TEXTS, premise, hypothesis)
        found = engine.run(work).probabilities
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
        assert work.padded_tokens == sum(batch.tokens for batch in work.batches)
        assert {batch.tokens for batch in work.batches} == {1024}
        assert engine.computed == 25


def test_a_pair_is_compared_alone_in_a_full_call_and_turned(forms: Path) -> None:
    with open_packed(forms, token_budget=2048) as engine:
        facts = measure(engine)
        assert facts.label_agreement == 1.0 and facts.bound < 1e-4
        full = engine.shapes
        assert any(rows * length >= 2048 for rows, length in full), "no full call was among them"


class Tries:
    """Stands for the trials of :mod:`scorer.inference.first_use`: their rates, or errors, by variant and options."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, float | Exception]) -> None:
        self.tried: list[str] = []
        self.outcomes = outcomes
        monkeypatch.setattr(module, "admit", self)

    def __call__(self, use: Any, *arguments: Any, timed: bool = False) -> float:
        self.tried.append(use.attention if use.layout == PACKED else f"padded {use.attention}")
        outcome = self.outcomes.get(self.tried[-1], DeviceError("does not start"))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture
def on_gpu(forms: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Any, list[str]]:
    """Settles for a GPU that stands in for one, with what is said."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    install(monkeypatch)
    said: list[str] = []

    def run() -> Execution:
        opened, on = Bundle.load(forms), device("cuda")
        found = ways(opened, "fp16", "auto", on)
        return module.settle(Use(opened, found[0].variant, on, 1), found, Grid(), None, said.append)

    return run, said


def test_all_ways_are_tried_once_and_the_choice_is_kept(on_gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, said = on_gpu
    tries = Tries(monkeypatch, {"PackedAttention": 10.0, "PackedMultiHeadAttention": 20.0, "padded Attention": 5.0})
    assert run().attention == "PackedMultiHeadAttention"
    assert tries.tried == ["PackedAttention", "PackedMultiHeadAttention", "padded Attention"]
    assert run().variant == "fp16.packed-mha" and len(tries.tried) == 3
    assert said[-1] == "tiny on cuda:0 runs fp16.packed-mha with PackedMultiHeadAttention"


def test_what_does_not_start_or_disagrees_is_left_out(on_gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, said = on_gpu
    outcomes: dict[str, float | Exception] = {
        "PackedAttention": BundleError("the process that tried it ended: SIGSEGV"),
        "PackedMultiHeadAttention": BundleError("gives the checkpoint's label on only 50%"),
        "padded Attention": 5.0,
    }
    Tries(monkeypatch, outcomes)
    assert run().layout == PADDED
    assert sum("does not run on cuda:0" in line for line in said) == 2


def test_a_kernel_that_fails_is_switched_off_and_the_way_tried_again(
    on_gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, said = on_gpu
    failed = CallError("a call of the model failed: CUDNN_FE failure: no execution plan")
    without_cudnn, unfused = (f"sdpa_kernel={options['sdpa_kernel']}" for options in FALLBACKS)
    tries = Tries(
        monkeypatch,
        {
            "PackedAttention": failed, f"PackedAttention {without_cudnn}": 10.0,
            "padded Attention": failed, f"padded Attention {without_cudnn}": failed,
            f"padded Attention {unfused}": 40.0,
        },
    )  # fmt: skip
    assert run().attention == f"Attention {unfused}"
    assert len(tries.tried) == 6  # two, one that does not start, three
    assert sum("is switched off" in line for line in said) == 3
    assert run().attention == f"Attention {unfused}" and len(tries.tried) == 6


def test_where_nothing_runs_the_reason_is_that_of_the_preferred_way(
    on_gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = on_gpu
    Tries(monkeypatch, {"PackedAttention": DeviceError("first reason"), "padded Attention": DeviceError("another")})
    with pytest.raises(DeviceError, match=r"^first reason$"):
        run()


def test_what_a_plan_records_is_taken_as_it_is(forms: Path) -> None:
    opened, on = Bundle.load(forms), device("cuda")
    for way in ways(opened, "fp16", "auto", on):
        for options in ({}, *FALLBACKS):
            one = Execution(way.variant, way.layout, way.operator, dict(options))
            assert recorded(opened, "fp16", one.layout, one.attention, on) == one
    for wrong in ("Attention", "PackedAttention sdpa_kernel=3", "PackedAttention device_id=1"):
        with pytest.raises(DeviceError, match="the plan records the layout packed"):
            recorded(opened, "fp16", "packed", wrong, on)


def test_the_trial_of_a_packed_variant_runs_in_a_process_of_its_own(forms: Path) -> None:
    """On a CPU, which runs this graph: what is asked reaches the trial, and its answer comes back."""
    opened = Bundle.load(forms)
    use = Use(opened, "fp16.packed", device("cpu"), 1)
    said: list[str] = []
    rate = admit(use, opened.variant("fp16.packed"), Grid(token_budget=1024), 1024, said.append, timed=True)
    assert rate > 0 and "tiny fp16.packed on cpu" in said[0]
    assert admit(use, opened.variant("fp16.packed"), Grid(max_length=128, token_budget=1024), 1024, said.append) == 0


def test_a_run_records_the_layout_and_a_resume_and_explain_take_it(
    forms: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    with_row(monkeypatch, "cpu", layouts=(PACKED,), precisions=("fp16",))
    table = pa.table({"text": ["A is a pub."] * 3, "mr": ["name[A], eatType[pub]"] * 3})
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    out, plan = tmp_path / "out", tmp_path / "out" / "_plan.json"
    command = ["--bundle", str(forms), "--out", str(out), "--precision", "fp16"]
    ran = CliRunner().invoke(app, ["run", str(tmp_path / "in" / "a.parquet"), *command])
    assert ran.exit_code == 0, ran.output
    content = json.loads(plan.read_text())
    assert content["budgets"]["layout"] == "packed"
    (other,) = {"PackedAttention", "PackedMultiHeadAttention"} - {content["budgets"]["attention"]}
    content["budgets"]["attention"] = other  # as if the other form had been the faster one then
    plan.write_text(json.dumps(content))
    again = CliRunner().invoke(app, ["run", str(tmp_path / "in"), *command])
    assert again.exit_code == 0, again.output
    assert json.loads(plan.read_text())["budgets"]["attention"] == other
    assert pq.read_table(out / "a.parquet").equals(pq.read_table(out / "b.parquet"))
    settings = settings_of(out)
    with open_scorer(settings, budgets_of_run(out, settings)) as scorer:
        assert (scorer.engine.use.layout, scorer.engine.use.attention) == (PACKED, other)
        found = explain(out, scorer, "b.parquet", 1)
    assert (found.signature, found.difference, found.same_labels) == (found.stored_signature, 0.0, True)
