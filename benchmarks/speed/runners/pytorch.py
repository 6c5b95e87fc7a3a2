"""Plain PyTorch with the transformers model class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import Probabilities, by_length, choose, load_pairs, softmax


def open_model(spec: dict[str, Any]) -> tuple[Any, Any]:
    """Tokenizer and model in eval mode on the setting's device, with PyTorch's own fused attention."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if spec.get("threads"):
        torch.set_num_threads(spec["threads"])
    dtype = getattr(torch, spec["options"].get("dtype", "float32"))
    model = AutoModelForSequenceClassification.from_pretrained(
        spec["checkpoint"], dtype=dtype, attn_implementation="sdpa"
    )
    return AutoTokenizer.from_pretrained(spec["checkpoint"]), model.eval().to(spec.get("device", "cpu"))


def one_at_a_time(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """One pair per call, including its tokenisation, as the metric's original script does."""
    import torch

    tokenizer, model = open_model(spec)
    pairs, lengths = load_pairs(spec)

    def run(chosen_pairs: list[tuple[str, str]]) -> Probabilities:
        logits = []
        with torch.inference_mode():
            for premise, hypothesis in chosen_pairs:
                inputs = tokenizer(premise, hypothesis, return_tensors="pt").to(model.device)
                logits.append(model(**inputs).logits[0].float().cpu().numpy())
        return softmax(logits)

    choose([1], lambda _, few: run([pairs[i] for i in few]), lengths)
    chosen["batch"] = 1
    return lambda: run(pairs)


def batches(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Probabilities]:
    """Batches sorted by length, padded to their longest, in the fastest of the offered sizes."""
    import torch

    tokenizer, model = open_model(spec)
    pairs, lengths = load_pairs(spec)

    def run(size: int, positions: list[int]) -> Probabilities:
        found = np.zeros((len(pairs), 3), np.float32)
        pending = []
        with torch.inference_mode():
            for local in by_length([lengths[i] for i in positions], size):
                members = [positions[j] for j in local]
                texts = [list(side) for side in zip(*(pairs[i] for i in members), strict=True)]
                inputs = tokenizer(*texts, padding=True, return_tensors="pt").to(model.device)
                pending.append((members, model(**inputs).logits))
            for members, logits in pending:  # fetched at the end, so that no call waits for the GPU
                found[members] = softmax(logits.float().cpu().numpy())
        return found

    size = choose(spec["options"].get("batches", [1, 4, 16]), run, lengths, spec["options"].get("try", 16))
    chosen["batch"] = size
    everything = list(range(len(pairs)))
    return lambda: run(size, everything)
