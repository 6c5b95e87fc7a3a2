"""The runtime's matrix products with 8-bit weights: `python -m benchmarks.products [--tokens 47 74]`.

One thread, processor time, so that other work on the machine matters little; the minimum of interleaved rounds. Each
product has a bias. `fp32`: MatMul. `one scale`: DynamicQuantizeMatMul, which the int8 variant uses: one scale for all
activations of a call, so that only a pair by itself has numbers of its own. `fixed scale`: one scale for all calls,
set beforehand. `a scale a row`: symmetric, from the row's largest activation. `blocks of n`: MatMulNBits with 8 bits
and accuracy level 4: a scale for each n activations of a row. With the last three, a row's numbers depend on no other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SHAPES = ((1024, 1024), (1024, 4096), (4096, 1024), (384, 1536))
BLOCKS = (32, 128, 256)
ROUNDS, CALLS = 7, 10
LARGEST = 4.5
"""Of the activations, which are normal: what the fixed scale covers."""
Floats = npt.NDArray[np.float32]


def session(nodes: Sequence[Any], tensors: dict[str, Any]) -> Any:
    """A session of these nodes and constants, on one thread. *Shape:* x (rows, inner) → y (rows, width), float32."""
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in "xy"]
    used = {name for node in nodes for name in node.input}
    values = [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items() if name in used]
    graph = helper.make_graph(nodes, "product", ends[:1], ends[1:], values)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def products(weight: Floats, bias: Floats) -> dict[str, Any]:
    """A session for each way to compute x @ weight + bias. *Shape:* weight (inner, width), bias (width,)."""
    from onnx import TensorProto, helper

    def ours(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> Any:
        return helper.make_node(operator, inputs, [output], domain="com.microsoft", **attributes)

    inner, width = weight.shape
    node = helper.make_node
    scale = np.abs(weight).max(axis=0) / 127
    tensors = {
        "w": rounded(weight / scale), "s": scale, "b": bias, "none": np.zeros(width, np.int8), "one": np.float32(1),
        "middle": np.uint8(128), "fixed": np.float32(LARGEST / 127), "axis": np.array([1], np.int64),
        "least": np.float32(1e-12), "steps": np.float32(1 / 127),
    }  # fmt: skip
    middle = helper.make_tensor("middle_of_a_byte", TensorProto.UINT8, [1], [128])
    found = {
        "fp32": session([node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["y"])], {"w": weight, "b": bias}),
        "one scale": session([ours("DynamicQuantizeMatMul", ["x", "w", "s", "none", "b"], "y")], tensors),
        "fixed scale": session(
            [
                node("QuantizeLinear", ["x", "fixed", "middle"], ["q"]),
                ours("MatMulIntegerToFloat", ["q", "w", "fixed", "s", "middle", "", "b"], "y"),
            ],
            tensors,
        ),
        "a scale a row": session(
            [
                node("Abs", ["x"], ["size"]),
                node("ReduceMax", ["size", "axis"], ["largest"], keepdims=0),
                node("Max", ["largest", "least"], ["positive"]),
                node("Mul", ["positive", "steps"], ["row"]),
                node("Shape", ["row"], ["rows"]),
                node("ConstantOfShape", ["rows"], ["middles"], value=middle),
                node("QuantizeLinear", ["x", "row", "middles"], ["q"], axis=0),
                ours("MatMulIntegerToFloat", ["q", "w", "one", "s", "middle"], "p"),
                node("Unsqueeze", ["row", "axis"], ["column"]),
                node("Mul", ["p", "column"], ["scaled"]),
                node("Add", ["scaled", "b"], ["y"]),
            ],
            tensors,
        ),
    }
    for block in BLOCKS:
        blocks = -(-inner // block)
        padded = np.zeros((blocks * block, width), np.float32)
        padded[:inner] = weight
        parts = padded.T.reshape(width, blocks, block)
        steps = np.maximum(np.abs(parts).max(axis=-1), 1e-12) / 127
        values = (rounded(parts / steps[..., None]).astype(np.int16) + 128).astype(np.uint8)
        nodes = [
            ours("MatMulNBits", ["x", "w", "s"], "p", K=inner, N=width, bits=8, block_size=block, accuracy_level=4),
            node("Add", ["p", "b"], ["y"]),
        ]
        found[f"blocks of {block}"] = session(nodes, {"w": values, "s": steps.reshape(-1), "b": bias})
    return found


def rounded(values: Floats) -> npt.NDArray[np.int8]:
    """The nearest numbers from -127 to 127."""
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def seconds(sessions: dict[str, Any], x: Floats) -> dict[str, float]:
    """Processor seconds of a call, the least of all rounds."""
    least = dict.fromkeys(sessions, float("inf"))
    for _ in range(ROUNDS):
        for name, session in sessions.items():
            session.run(None, {"x": x})
            began = time.process_time()
            for _ in range(CALLS):
                session.run(None, {"x": x})
            least[name] = min(least[name], (time.process_time() - began) / CALLS)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[47, 74], help="rows of the activations")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print("inner x width, rows | way | GOPS | times fp32 | mean error of an output, of its mean size")
    for inner, width in SHAPES:
        weight = rng.normal(scale=0.03, size=(inner, width)).astype(np.float32)
        bias = rng.normal(size=width).astype(np.float32)
        sessions = products(weight, bias)
        for rows in args.tokens:
            x = rng.normal(size=(rows, inner)).astype(np.float32)
            found, exact = seconds(sessions, x), x @ weight + bias
            for name, session in sessions.items():
                error = np.abs(session.run(None, {"x": x})[0] - exact).mean() / np.abs(exact).mean()
                rate = 2 * rows * inner * width / found[name] / 1e9
                print(
                    f"{inner} x {width}, {rows} | {name} | {rate:.0f} | {found['fp32'] / found[name]:.1f} | {error:.2%}"
                )


if __name__ == "__main__":
    main()
