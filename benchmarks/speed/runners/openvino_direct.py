"""OpenVINO's own runtime: one call after another, or a queue of parallel streams, whichever is faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Probabilities, by_length, choose, load_pairs, softmax

_STEP = 8
"""Lengths are padded to multiples of this: the kernels of each new shape must be compiled."""


def infer(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """``file``: which IR. ``precision``: f32, bf16, or nothing for what the runtime chooses."""
    import openvino as ov
    from transformers import AutoTokenizer

    options = spec["options"]
    core = ov.Core()
    model = core.read_model(f"{spec['openvino']}/{options['file']}")
    tokenizer = AutoTokenizer.from_pretrained(spec["checkpoint"])
    pairs, lengths = load_pairs(spec)
    compiled: dict[str, Any] = {}

    def queue(mode: str) -> Any:
        if mode not in compiled:
            compiled.clear()  # one at a time, for the memory
            hints: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT" if mode == "streams" else "LATENCY"}
            if spec.get("threads"):
                hints["INFERENCE_NUM_THREADS"] = spec["threads"]
                if mode == "streams":
                    hints["NUM_STREAMS"] = spec["threads"]
            if options.get("precision"):
                hints["INFERENCE_PRECISION_HINT"] = options["precision"]
            compiled[mode] = ov.AsyncInferQueue(core.compile_model(model, "CPU", hints))
        return compiled[mode]

    def run(way: tuple[str, int], positions: list[int]) -> Probabilities:
        mode, size = way
        requests = queue(mode)
        found = np.zeros((len(pairs), 3), np.float32)

        def keep(request: Any, members: list[int]) -> None:
            found[members] = softmax(request.get_output_tensor(0).data)

        requests.set_callback(keep)
        for local in by_length([lengths[i] for i in positions], size):
            members = [positions[j] for j in local]
            texts = [list(side) for side in zip(*(pairs[i] for i in members), strict=True)]
            inputs = tokenizer(*texts, padding=True, pad_to_multiple_of=_STEP, return_tensors="np")
            requests.start_async(dict(inputs), members)
        requests.wait_all()
        return found

    ways = [tuple(way) for way in options.get("ways", [("calls", 16), ("streams", 1), ("streams", 4)])]
    way = choose(ways, run, lengths, options.get("try", 16))
    queue(way[0])
    chosen.update(way=way[0], batch=way[1])
    everything = list(range(len(pairs)))
    run(way, everything[:: max(1, len(everything) // 16)])  # the model was compiled again
    return lambda: run(way, everything)
