"""Write the graphs that test a device and measure its matrix rate.

    python -m benchmarks.speed.matrix_graphs [FOLDER]

They ship with the scorer, which has no library for writing graphs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "scorer" / "inference" / "matrix"


def graphs() -> dict[str, Any]:
    """By file name: a product of two square matrices in each precision, and the graph that tests a device."""
    from onnx import TensorProto, helper

    forms = {
        "fp32": ("MatMul", TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT),
        "fp16": ("MatMul", TensorProto.FLOAT16, TensorProto.FLOAT16, TensorProto.FLOAT16),
        "int8": ("MatMulInteger", TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32),
    }
    made = {}
    for precision, (operator, left, right, product) in forms.items():
        ends = [
            helper.make_tensor_value_info(name, kind, ["n", "n"])
            for name, kind in (("a", left), ("b", right), ("c", product))
        ]
        graph = helper.make_graph([helper.make_node(operator, ["a", "b"], ["c"])], "matrix", ends[:2], ends[2:])
        made[f"{precision}.onnx"] = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="d2t-scorer"
        )
    made["start.onnx"] = _start()
    return made


def _start() -> Any:
    """What a device is tried with: a product, and a sum of integers along an axis, as a model counts the tokens of its
    mask. The two need the libraries that a model's graph needs."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["c"]),
        helper.make_node("Cast", ["c"], ["whole"], to=TensorProto.INT32),
        helper.make_node("ReduceSum", ["whole", "axis"], ["d"], keepdims=0),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "n"]) for name in ("a", "b", "c")]
    total = helper.make_tensor_value_info("d", TensorProto.INT32, ["n"])
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "start", ends[:2], [ends[2], total], [axis])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="d2t-scorer"
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, model in graphs().items():
        (folder / name).write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
