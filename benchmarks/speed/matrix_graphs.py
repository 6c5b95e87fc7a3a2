"""Write the graphs that ship in ``scorer/inference/matrix``: `python -m benchmarks.speed.matrix_graphs [FOLDER]`.

``start`` tests a device with a product and a sum of integers along an axis, as a model counts the tokens of its mask:
the two need the libraries that a model's graph needs. The others measure the rate of products in each precision.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx

FOLDER = Path(__file__).resolve().parents[2] / "scorer" / "inference" / "matrix"
HEAD = '<ir_version: 8, producer_name: "d2t-scorer", opset_import: ["" : 17]>'
GRAPHS = {
    "fp32": "matrix (float[n,n] a, float[n,n] b) => (float[n,n] c) { c = MatMul(a, b) }",
    "fp16": "matrix (float16[n,n] a, float16[n,n] b) => (float16[n,n] c) { c = MatMul(a, b) }",
    "int8": "matrix (uint8[n,n] a, int8[n,n] b) => (int32[n,n] c) { c = MatMulInteger(a, b) }",
    "start": """start (float[n,n] a, float[n,n] b) => (float[n,n] c, int32[n] d) <int64[1] axis = {1}> {
        c = MatMul(a, b)
        whole = Cast <to = 6> (c)
        d = ReduceSum <keepdims = 0> (whole, axis)
    }""",
}


def graphs() -> dict[str, bytes]:
    """The models by file name."""
    made = {}
    for name, text in GRAPHS.items():
        model = onnx.parser.parse_model(f"{HEAD}\n{text}")
        for node in model.graph.node:
            node.ClearField("domain")
        made[f"{name}.onnx"] = model.SerializeToString(deterministic=True)
    return made


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, content in graphs().items():
        (folder / name).write_bytes(content)
