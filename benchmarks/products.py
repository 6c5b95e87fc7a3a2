"""The runtime's matrix products with 8-bit weights: `python -m benchmarks.products [--tokens 47 74]`.

One thread, processor time, so that other work on the machine matters little; the minimum of interleaved rounds.
`fp32`: MatMul. `one scale`: DynamicQuantizeMatMul, which the int8 variant uses: one scale for all activations of a
call, so that only a pair by itself has numbers of its own. `blocks of n`: MatMulNBits with 8 bits and accuracy level 4:
a scale for each n activations of a row, so that a row's numbers depend on no other row.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import numpy.typing as npt

SHAPES = ((1024, 1024), (1024, 4096), (4096, 1024), (384, 1536))
BLOCKS = (32, 128, 256)
ROUNDS, CALLS = 7, 10
Floats = npt.NDArray[np.float32]


def one_node(operator: str, tensors: dict[str, Any], width: int, **attributes: Any) -> Any:
    """A session of one product with constant weights, on one thread. *Shape:* x (rows, inner) → y (rows, width)."""
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    domain = "" if operator == "MatMul" else "com.microsoft"
    node = helper.make_node(operator, ["x", *tensors], ["y"], domain=domain, **attributes)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in "xy"]
    values = [numpy_helper.from_array(value, name) for name, value in tensors.items()]
    graph = helper.make_graph([node], f"{operator} {width}", ends[:1], ends[1:], values)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def products(weight: Floats) -> dict[str, Any]:
    """A session for each way to multiply with `weight`, *Shape:* (inner, width)."""
    inner, width = weight.shape
    scale = np.abs(weight).max(axis=0) / 127
    found = {
        "fp32": one_node("MatMul", {"w": weight}, width),
        "one scale": one_node(
            "DynamicQuantizeMatMul", {"w": rounded(weight / scale), "s": scale, "z": np.zeros(width, np.int8)}, width
        ),
    }
    for block in BLOCKS:
        blocks = -(-inner // block)
        padded = np.zeros((blocks * block, width), np.float32)
        padded[:inner] = weight
        parts = padded.T.reshape(width, blocks, block)
        steps = np.maximum(np.abs(parts).max(axis=-1), 1e-12) / 127
        values = (rounded(parts / steps[..., None]).astype(np.int16) + 128).astype(np.uint8)
        found[f"blocks of {block}"] = one_node(
            "MatMulNBits", {"w": values, "s": steps.reshape(-1)}, width,
            K=inner, N=width, bits=8, block_size=block, accuracy_level=4,
        )  # fmt: skip
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
        sessions = products(weight)
        for rows in args.tokens:
            x = rng.normal(size=(rows, inner)).astype(np.float32)
            found, exact = seconds(sessions, x), x @ weight
            for name, session in sessions.items():
                error = np.abs(session.run(None, {"x": x})[0] - exact).mean() / np.abs(exact).mean()
                rate = 2 * rows * inner * width / found[name] / 1e9
                print(
                    f"{inner} x {width}, {rows} | {name} | {rate:.0f} | {found['fp32'] / found[name]:.1f} | {error:.2%}"
                )


if __name__ == "__main__":
    main()
