"""Write the graphs that measure a device's matrix rate: ``python -m benchmarks.matrix_graphs [FOLDER]``.

They ship with the scorer, which has no library for writing graphs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "scorer" / "inference" / "matrix"


def graphs() -> dict[str, Any]:
    """By file name, the graph of a product of two square matrices in each precision."""
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
    return made


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, model in graphs().items():
        (folder / name).write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
