"""Measure two choices of the graphs for a CPU: residuals separate from their normalisation, and pairs per call.

    python -m benchmarks.kernels [--bundle DIR] [--tokens 47]

First the runtime's kernels of a residual and its normalisation, fused and separate (export/rewrite.py): minimum of many
calls, one thread. Then pairs per second of a bundle's int8 variant by the number of pairs per call (export/by_pair.py):
one call for each processor at the same time, medians of interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

TOKENS, WIDTHS, CALLS = 47, (256, 1024), 200
PAIRS_A_CALL, ROUNDS, ROUND_S = (1, 2, 4, 8, 16), 5, 3.0


def residual(width: int) -> Any:
    """A residual and its normalisation as additions and LayerNormalization, which the runtime fuses if allowed."""
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
    """Nanoseconds of a call per element, the minimum of many calls."""
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


def pairs_a_second(bundle: str, tokens: int) -> dict[int, list[float]]:
    """Pairs per second in every round, by the number of pairs per call."""
    from scorer.inference.bundle import Bundle
    from scorer.inference.devices import Device
    from scorer.inference.sessions import available_threads, create_session

    opened = Bundle.load(bundle)
    session = create_session(opened.variant("int8"), Device("cpu"), 1)
    threads = available_threads()
    row = np.random.default_rng(0).integers(100, 500, (1, tokens))
    found: dict[int, list[float]] = {size: [] for size in PAIRS_A_CALL}
    with ThreadPoolExecutor(threads) as pool:

        def calls(feed: dict[str, Any], end: float) -> int:
            done = 0
            while time.perf_counter() < end:
                session.run(["logits"], feed)
                done += len(feed["input_ids"])
            return done

        for number in range(ROUNDS):
            for size in PAIRS_A_CALL if number % 2 else PAIRS_A_CALL[::-1]:
                ids = row.repeat(size, axis=0)
                feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                began = time.perf_counter()
                done = sum(pool.map(calls, [feed] * threads, [began + ROUND_S] * threads))
                found[size].append(done / (time.perf_counter() - began))
    return found


def main() -> None:
    from scorer.inference.devices import CPU, unwanted_fusions

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="embedded-e2e", help="with an int8 variant")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of a pair")
    args = parser.parse_args()
    print(f"ns an element, {TOKENS} tokens: fused | apart | ratio")
    for width in WIDTHS:
        model = residual(width)
        fused, apart = nanoseconds(model, width, []), nanoseconds(model, width, unwanted_fusions(CPU))
        print(f"width {width}: {fused:.2f} | {apart:.2f} | {fused / apart:.1f}")
    found = pairs_a_second(args.bundle, args.tokens)
    print(f"{args.bundle} int8, {args.tokens} tokens a pair: pairs a call | pairs/s | times one pair a call")
    for size, rates in found.items():
        ratio = statistics.median(rate / one for rate, one in zip(rates, found[1], strict=True))
        print(f"{size} | {statistics.median(rates):,.1f} | {ratio:.3f}")


if __name__ == "__main__":
    main()
