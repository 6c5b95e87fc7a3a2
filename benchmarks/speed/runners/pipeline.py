"""transformers' text-classification pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Probabilities, choose, load_pairs


def classify(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """As documented: a list of pairs in, all scores out. ``sorted``: pass pairs sorted by length, which the pipeline
    does not do itself."""
    import torch
    from transformers import pipeline

    options = spec["options"]
    if spec.get("threads"):
        torch.set_num_threads(spec["threads"])
    dtype = getattr(torch, options.get("dtype", "float32"))
    classifier = pipeline(
        "text-classification", model=spec["checkpoint"], device=spec.get("device", "cpu"), dtype=dtype
    )
    columns = classifier.model.config.label2id
    pairs, lengths = load_pairs(spec)

    def run(size: int, positions: list[int]) -> Probabilities:
        if options.get("sorted"):
            positions = sorted(positions, key=lambda i: -lengths[i])
        asked = [{"text": pairs[i][0], "text_pair": pairs[i][1]} for i in positions]
        found = np.zeros((len(pairs), 3), np.float32)
        for i, scores in zip(positions, classifier(asked, top_k=None, batch_size=size), strict=True):
            for score in scores:
                found[i, columns[score["label"]]] = score["score"]
        return found

    size = choose(options.get("batches", [1]), run, lengths, options.get("try", 16))
    chosen["batch"] = size
    everything = list(range(len(pairs)))
    return lambda: run(size, everything)
