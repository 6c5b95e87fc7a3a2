from __future__ import annotations

import onnx.parser
import pytest

from scorer.commands import matrix_rate as module
from scorer.commands.matrix_rate import GRAPHS, matrix_rate
from scorer.inference.device import Device

HEAD = '<ir_version: 8, producer_name: "d2t-scorer", opset_import: ["" : 17]>'
PRODUCTS = {
    "fp32": "matrix (float[n,n] a, float[n,n] b) => (float[n,n] c) { c = MatMul(a, b) }",
    "fp16": "matrix (float16[n,n] a, float16[n,n] b) => (float16[n,n] c) { c = MatMul(a, b) }",
    "int8": "matrix (uint8[n,n] a, int8[n,n] b) => (int32[n,n] c) { c = MatMulInteger(a, b) }",
}


def test_the_graphs_that_ship_are_one_product() -> None:
    for precision, product in PRODUCTS.items():
        made = onnx.parser.parse_model(f"{HEAD}\n{product}")
        for node in made.graph.node:
            node.ClearField("domain")
        assert (GRAPHS / f"{precision}.onnx").read_bytes() == made.SerializeToString(deterministic=True)


def test_a_rate_counts_the_operations_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setitem(module._SIZES, "cpu", 64)
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    assert {matrix_rate(Device("cpu"), precision, 1) for precision in ("fp32", "int8")} == {2 * 64**3}
    monkeypatch.setattr(module, "create_session", lambda *_: 1 / 0)
    assert matrix_rate(Device("cpu"), "fp32", 1) is None
