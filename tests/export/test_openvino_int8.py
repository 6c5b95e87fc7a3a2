"""OpenVINO's int8 variant: which strength of smoothing it gets, and that the scorer runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from export import export_bundle, openvino_int8
from export.openvino_int8 import EVERY, STRENGTHS, export_openvino_int8
from scorer.errors import CheckpointError, MissingDependencyError
from scorer.inference.bundle import Bundle
from scorer.inference.choices import OPENVINO_INT8
from scorer.inference.engine import Engine
from scorer.inference.verify import measure
from tests.export.test_toolchain import without

LEAST = 0.99


def one_node(name: str, operator: str) -> onnx.ModelProto:
    values = [helper.make_tensor_value_info(which, TensorProto.FLOAT, [1]) for which in ("a", "b")]
    node = helper.make_node(operator, ["a"], ["b"], name=name)
    return helper.make_model(helper.make_graph([node], "one", values[:1], values[1:]))


@pytest.mark.parametrize(
    ("agreements", "kept", "tried"), [([0.995, 1.0], 0, 1), ([0.97, 0.992], 1, 2), ([0.98, 0.97], 0, 2)]
)
def test_the_first_strength_that_keeps_enough_or_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agreements: list[float], kept: int, tried: int
) -> None:
    asked: list[float | None] = []

    def quantised(raw: Path, feeds: Any, strength: float | None) -> onnx.ModelProto:
        asked.append(strength)
        return one_node(str(strength), "QuantizeLinear")

    monkeypatch.setattr(openvino_int8, "_quantised", quantised)
    out = tmp_path / "model.openvino-int8.onnx"
    counts, found = export_openvino_int8(
        tmp_path / "raw.onnx", out, [], lambda path: {"label_agreement": agreements[len(asked) - 1]}, LEAST
    )
    assert (asked, found["label_agreement"]) == (list(STRENGTHS[:tried]), agreements[kept])
    assert onnx.load(str(out)).graph.node[0].name == str(STRENGTHS[kept])
    assert counts == {"QuantizeLinear": 1} and [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("missing", [["nncf"], ["openvino", "nncf"]])
def test_missing_tools_are_named_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: list[str]
) -> None:
    without(monkeypatch, missing)
    names = " and ".join(missing)
    with pytest.raises(MissingDependencyError, match=rf"needs .*{names}.*pip install 'd2t-scorer\[openvino-export\]'"):
        export_bundle("roberta-tiny", tmp_path / "out", random_init=True, precisions=(OPENVINO_INT8,))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # NNCF quantises a model
def test_the_exported_variant_has_8_bit_products_and_runs(
    checkpoint: Path, tmp_path: Path, lines: tuple[list[str], Callable[[str], None]], capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("nncf", reason="needs the extra `openvino-export`")
    out = export_bundle(str(checkpoint), tmp_path / "out", precisions=("fp32", OPENVINO_INT8), force=True, log=lines[1])
    assert capfd.readouterr().out == ""
    made = json.loads((out / "bundle.json").read_text(encoding="utf-8"))
    variant, files = made["variants"][OPENVINO_INT8], {path.name for path in out.iterdir()}
    assert files == {
        "bundle.json", "tokenizer.json", "probes.parquet", "model.fp32.onnx", "model.openvino-int8.onnx"
    }  # fmt: skip
    assert (variant["parity"]["provider"], variant["parity"]["pairs"]) == ("OpenVINO", 512)
    assert 0 < made["variants"]["fp32"]["parity"]["bound"] < variant["parity"]["bound"]
    assert {"openvino", "nncf"} <= made["versions"].keys()

    graph = onnx.load(str(out / variant["file"])).graph
    eight = [numpy_helper.to_array(one) for one in graph.initializer if one.data_type == TensorProto.INT8]
    # Of each of the two layers: queries, keys, values, what follows attention, and the two of the feed-forward block.
    assert sum(one.ndim == 2 for one in eight) == 2 * 6
    floats = [numpy_helper.to_array(one) for one in graph.initializer if one.data_type == TensorProto.FLOAT]
    assert any(one.shape == (500, 32) for one in floats), "the embeddings stay fp32"

    # Measured again by the scorer: the same figures, and no pair depends on others.
    with Engine(Bundle.load(out), device="cpu", precision=OPENVINO_INT8, threads=2, on_trial=True) as engine:
        facts = measure(engine)
    assert facts.isolated and facts.bound <= variant["parity"]["bound"] <= 1.01 * facts.bound
    assert np.isclose(facts.label_agreement, variant["parity"]["label_agreement"], atol=1e-6)
    assert EVERY > 1, "some probes must not have been used to set scales"


@pytest.mark.slow
def test_a_graph_without_products_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("nncf", reason="needs the extra `openvino-export`")
    onnx.save(one_node("x", "Relu"), str(tmp_path / "raw.onnx"))
    with pytest.raises(CheckpointError, match="NNCF found no products"):
        export_openvino_int8(
            tmp_path / "raw.onnx", tmp_path / "out.onnx", [{"a": np.ones(1, np.float32)}], lambda path: {}, LEAST
        )
