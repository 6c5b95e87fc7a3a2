"""The runtime's CPU kernels of a residual and its normalisation: fused into one, and apart.

    python -m benchmarks.kernels

Why exported graphs for the CPU keep the two apart (export/rewrite.py). Minimum of many calls, one thread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

TOKENS, WIDTHS, CALLS = 47, (256, 1024), 200


def residual(width: int) -> Any:
    """A residual and its normalisation as additions and LayerNormalization, which the runtime fuses if it may."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Add", ["branch", "bias"], ["biased"]),
        helper.make_node("Add", ["residual", "biased"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "scale", "shift"], ["out"], axis=-1, epsilon=1e-5),
    ]
    tensors = [numpy_helper.from_array(np.ones(width, np.float32), name) for name in ("bias", "scale", "shift")]
    shape = [1, TOKENS, width]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("branch", "residual", "out")]
    graph = helper.make_graph(nodes, "residual", ends[:2], ends[2:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def nanoseconds(model: bytes, width: int, unwanted: list[str]) -> float:
    """Time of a call for each element, the least of many."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, disabled_optimizers=unwanted)
    rng = np.random.default_rng(0)
    feed = {name: rng.normal(size=(1, TOKENS, width)).astype(np.float32) for name in ("branch", "residual")}
    best = float("inf")
    for _ in range(CALLS):
        began = time.perf_counter()
        session.run(None, feed)
        best = min(best, time.perf_counter() - began)
    return best / TOKENS / width * 1e9


def main() -> None:
    from scorer.inference.sessions import CPU, unwanted_fusions

    print(f"ns an element, {TOKENS} tokens: fused | apart | ratio")
    for width in WIDTHS:
        model = residual(width)
        fused, apart = nanoseconds(model, width, []), nanoseconds(model, width, unwanted_fusions(CPU))
        print(f"width {width}: {fused:.2f} | {apart:.2f} | {fused / apart:.1f}")


if __name__ == "__main__":
    main()
