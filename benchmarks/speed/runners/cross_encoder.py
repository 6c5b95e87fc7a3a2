"""sentence-transformers' CrossEncoder, which sorts by length itself, on each of its backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Probabilities, choose, load_pairs


def predict(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """``backend``: torch, onnx or openvino. ``folder``: which prepared form to open. ``file``: a file in it."""
    import torch
    from sentence_transformers import CrossEncoder

    options = spec["options"]
    if spec.get("threads"):
        torch.set_num_threads(spec["threads"])
    arguments: dict[str, Any] = {}
    if options.get("dtype"):
        arguments["dtype"] = getattr(torch, options["dtype"])
    if options.get("file"):
        arguments["file_name"] = options["file"]
    if options.get("hints"):
        arguments["ov_config"] = options["hints"]
    if options.get("backend") == "openvino":
        arguments["export"] = True
    model = CrossEncoder(
        spec[options.get("folder", "checkpoint")],
        backend=options.get("backend", "torch"),
        device=spec.get("device", "cpu"),
        model_kwargs=arguments,
    )
    pairs, lengths = load_pairs(spec)

    def run(size: int, positions: list[int]) -> Probabilities:
        asked = [pairs[i] for i in positions]
        return np.asarray(model.predict(asked, batch_size=size, apply_softmax=True, show_progress_bar=False))

    size = choose(options.get("batches", [1, 4, 16]), run, lengths, options.get("try", 16))
    chosen["batch"] = size
    everything = list(range(len(pairs)))
    return lambda: run(size, everything)
