"""Variants that OpenVINO computes: the same answers, each pair by itself; and what is said where it is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from scorer.errors import CallError, DeviceError, MissingDependencyError
from scorer.inference import openvino_session, verify
from scorer.inference.bundle import Bundle
from scorer.inference.calls import Calls
from scorer.inference.choices import OPENVINO_INT8, PRECISIONS, USUAL_PRECISIONS
from scorer.inference.engine import Engine
from scorer.inference.openvino_session import Call, OpenVinoSession
from scorer.inference.sessions import run_options, runtime_of
from tests.bundles import expected_logits, make_bundle, tokenizer
from tests.inference.fake_cuda import install

TEXTS = ["The Mill is a pub.", "Blue Spice", "cheap French food " * 6, "near Crowne Plaza Hotel", "x"]
FEED = {"input_ids": np.ones((1, 8), np.int64), "attention_mask": np.ones((1, 8), np.int64)}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with fp32 and OpenVINO's variant, which is the same model under another name."""
    return make_bundle(tmp_path_factory.mktemp("bundles") / "both", precisions=("fp32", OPENVINO_INT8))


@pytest.fixture
def session(both: Path) -> OpenVinoSession:
    pytest.importorskip("openvino", reason="needs the extra `openvino`")
    return OpenVinoSession(Bundle.load(both).variant(OPENVINO_INT8), 2)


class Stuck:
    """A request whose call ends when it is cancelled, and not before."""

    def __init__(self, call: Call) -> None:
        self.call, self.cancelled, self.fed = call, False, False

    def start_async(self, feed: dict[str, Any]) -> None:
        self.fed = True

    def wait(self) -> None:
        self.call.terminate = True  # as another thread does
        assert self.cancelled
        raise RuntimeError("Infer Request was canceled")

    def cancel(self) -> None:
        self.cancelled = True


def test_an_export_makes_it_only_when_it_is_named() -> None:
    assert set(PRECISIONS) - set(USUAL_PRECISIONS) == {OPENVINO_INT8}


def test_without_the_extra_the_message_says_what_to_install(both: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    openvino_session.version.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"pip install 'd2t-scorer\[openvino\]'.*--precision"):
        Engine(Bundle.load(both), device="cpu", precision=OPENVINO_INT8)
    with Engine(Bundle.load(both), device="cpu", on_trial=True) as engine:
        assert engine.precision == "fp32"


def test_it_is_refused_on_a_gpu(both: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(DeviceError, match="openvino-int8 does not run on cuda:0: OpenVINO computes on the CPU"):
        Engine(Bundle.load(both), device="cuda", precision=OPENVINO_INT8, on_trial=True)


def test_a_call_that_was_given_up_ends() -> None:
    call = Call()
    request = Stuck(call)
    with pytest.raises(RuntimeError, match="cancel"):
        call.compute(request, FEED)
    assert request.fed and request.cancelled
    late = Stuck(call)
    with pytest.raises(RuntimeError, match="given up"):
        call.compute(late, FEED)
    assert not late.fed


def test_answers_are_the_model_s_whatever_shares_a_call(both: Path, session: OpenVinoSession) -> None:
    with Engine(Bundle.load(both), device="cpu", precision=OPENVINO_INT8, threads=2, on_trial=True) as engine:
        assert engine.per_pair and engine.provider == "OpenVINO"
        assert engine.runtime == runtime_of(OPENVINO_INT8) == f"OpenVINO {openvino_session.version()}"
        assert isinstance(engine.session.session, OpenVinoSession)
        pairs = [(0, 1), (2, 3), (1, 0), (4, 4), (2, 2)]
        found = engine.logits([TEXTS[a] for a, _ in pairs], [TEXTS[b] for _, b in pairs])
        made = tokenizer()
        for (a, b), logits in zip(pairs, found, strict=True):
            ids = made.encode(TEXTS[a], TEXTS[b]).ids
            np.testing.assert_allclose(logits, expected_logits(ids, made.get_vocab_size()), atol=1e-4)
        assert {shape[0] for shape in engine.shapes} == {1}
        facts = verify.measure(engine)
        assert (facts.label_agreement, facts.company_bound, facts.isolated) == (1.0, 0.0, True)


def test_calls_fail_and_are_given_up_as_those_of_the_other_runtime(session: OpenVinoSession) -> None:
    assert [node.name for node in session.get_inputs()] == ["input_ids", "attention_mask"]
    calls = Calls("bundle tiny", 3)
    assert calls.run(session, FEED, 1).shape == (1, 3)
    with pytest.raises(CallError, match="bundle tiny: a call of the model failed"):
        calls.run(session, {"input_ids": FEED["input_ids"]} | {"attention_mask": np.ones((1, 3, 3), np.int64)}, 1)
    options = run_options(session)
    options.terminate = True
    with pytest.raises(RuntimeError, match="given up"):
        session.run(["logits"], FEED, options)


def test_a_graph_that_it_cannot_open_is_an_error(tmp_path: Path, session: OpenVinoSession) -> None:
    node = helper.make_node("NoSuchOperator", ["a"], ["b"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("a", "b")]
    onnx.save(helper.make_model(helper.make_graph([node], "odd", values[:1], values[1:])), str(tmp_path / "odd.onnx"))
    with pytest.raises(DeviceError, match=r"odd\.onnx does not start with OpenVINO .*NoSuchOperator"):
        OpenVinoSession(tmp_path / "odd.onnx", 1)
