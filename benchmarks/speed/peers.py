"""Runners of other libraries on the CPU (:data:`.harness.Runner`); none imports the scorer. A pass returns
probabilities in the checkpoint's column order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Spec = dict[str, Any]
Probabilities = npt.NDArray[np.float32]
Run = Callable[[int, list[int]], Probabilities]
"""Of a batch size: probabilities of the pairs at some positions, zeros elsewhere."""
SIZES = (1, 4, 16)


def load_pairs(spec: Spec) -> tuple[list[tuple[str, str]], list[int]]:
    content = json.loads(Path(spec["pairs"]).read_text())
    return [(premise, hypothesis) for premise, hypothesis in content["pairs"]], content["tokens"]


def softmax(logits: Any) -> Probabilities:
    """Probabilities of logits; both float, *Shape:* (pairs, 3)."""
    values = np.asarray(logits, np.float64)
    weights = np.exp(values - values.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def torch_batches(spec: Spec, chosen: Spec) -> Callable[[], Probabilities]:
    """PyTorch with its own fused attention, in batches sorted by length, padded to their longest; in one of ``batches``
    sizes, the fastest."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    options, pairs, lengths = spec["options"], *load_pairs(spec)
    torch.set_num_threads(spec["threads"])
    tokenizer = AutoTokenizer.from_pretrained(spec["checkpoint"])
    dtype = getattr(torch, options.get("dtype", "float32"))
    load = AutoModelForSequenceClassification.from_pretrained
    model = load(spec["checkpoint"], dtype=dtype, attn_implementation="sdpa").eval()

    def run(size: int, positions: list[int]) -> Probabilities:
        found = np.zeros((len(pairs), 3), np.float32)
        for members in _by_length(lengths, positions, size):
            texts = _sides([pairs[i] for i in members])
            with torch.inference_mode():
                logits = model(**tokenizer(*texts, padding=len(members) > 1, return_tensors="pt")).logits
            found[members] = softmax(logits.float().numpy())
        return found

    return _fastest(options.get("batches", SIZES), run, lengths, chosen)


def pipeline(spec: Spec, chosen: Spec) -> Callable[[], Probabilities]:
    """transformers' pipeline as documented. ``sorted``: pass pairs by length, which it does not do itself."""
    import torch
    from transformers import pipeline

    options, pairs, lengths = spec["options"], *load_pairs(spec)
    torch.set_num_threads(spec["threads"])
    dtype = getattr(torch, options.get("dtype", "float32"))
    classifier = pipeline("text-classification", model=spec["checkpoint"], device="cpu", dtype=dtype)
    columns = classifier.model.config.label2id

    def run(size: int, positions: list[int]) -> Probabilities:
        if options.get("sorted"):
            positions = sorted(positions, key=lambda i: -lengths[i])
        asked = [{"text": pairs[i][0], "text_pair": pairs[i][1]} for i in positions]
        found = np.zeros((len(pairs), 3), np.float32)
        for i, scores in zip(positions, classifier(asked, top_k=None, batch_size=size), strict=True):
            for score in scores:
                found[i, columns[score["label"]]] = score["score"]
        return found

    return _fastest(options.get("batches", [1]), run, lengths, chosen)


def cross_encoder(spec: Spec, chosen: Spec) -> Callable[[], Probabilities]:
    """sentence-transformers' CrossEncoder, which sorts by length itself. ``backend``: torch, onnx or openvino.
    ``folder``: which prepared form to open. ``file``: a file in it."""
    import torch
    from sentence_transformers import CrossEncoder

    options, pairs, lengths = spec["options"], *load_pairs(spec)
    torch.set_num_threads(spec["threads"])
    backend = options.get("backend", "torch")
    arguments: Spec = {"export": True} if backend == "openvino" else {}
    arguments |= {"dtype": getattr(torch, options["dtype"])} if "dtype" in options else {}
    arguments |= {"file_name": options["file"]} if "file" in options else {}
    folder = spec[options.get("folder", "checkpoint")]
    model = CrossEncoder(folder, backend=backend, device="cpu", model_kwargs=arguments)

    def run(size: int, positions: list[int]) -> Probabilities:
        asked = [pairs[i] for i in positions]
        found = np.zeros((len(pairs), 3), np.float32)
        found[positions] = model.predict(asked, batch_size=size, apply_softmax=True, show_progress_bar=False)
        return found

    return _fastest(options.get("batches", SIZES), run, lengths, chosen)


def openvino(spec: Spec, chosen: Spec) -> Callable[[], Probabilities]:
    """OpenVINO's own runtime, with a queue of parallel streams. ``file``: which IR. ``precision``: f32, bf16, or none
    for what the runtime chooses."""
    import openvino as ov
    from transformers import AutoTokenizer

    options, pairs, lengths = spec["options"], *load_pairs(spec)
    tokenizer = AutoTokenizer.from_pretrained(spec["checkpoint"])
    hints = {"PERFORMANCE_HINT": "THROUGHPUT", "NUM_STREAMS": spec["threads"], "INFERENCE_NUM_THREADS": spec["threads"]}
    if options["precision"]:
        hints["INFERENCE_PRECISION_HINT"] = options["precision"]
    model = ov.Core().compile_model(f"{spec['openvino']}/{options['file']}", "CPU", hints)
    requests = ov.AsyncInferQueue(model)

    def run(size: int, positions: list[int]) -> Probabilities:
        found = np.zeros((len(pairs), 3), np.float32)

        def keep(request: Any, members: list[int]) -> None:
            found[members] = softmax(request.get_output_tensor(0).data)

        requests.set_callback(keep)
        for members in _by_length(lengths, positions, size):
            # The kernels of each new shape must be compiled, so lengths are multiples of 8.
            texts = _sides([pairs[i] for i in members])
            inputs = tokenizer(*texts, padding=True, pad_to_multiple_of=8, return_tensors="np")
            requests.start_async(dict(inputs), members)
        requests.wait_all()
        return found

    one_pass = _fastest(options.get("batches", (1, 4)), run, lengths, chosen)
    run(chosen["batch"], list(range(len(pairs))))  # so that the kernels of all shapes are there
    return one_pass


def _sides(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    return [list(side) for side in zip(*pairs, strict=True)]


def _by_length(lengths: Sequence[int], positions: list[int], size: int) -> Iterator[list[int]]:
    """The positions in batches of similar length, longest first."""
    order = sorted(positions, key=lambda i: -lengths[i])
    return (order[start : start + size] for start in range(0, len(order), size))


def _fastest(sizes: Sequence[int], run: Run, lengths: Sequence[int], chosen: Spec) -> Callable[[], Probabilities]:
    """One pass in the batch size that is fastest on a few blocks of neighbours by length, each after its warm-up."""
    block, order = max(sizes), np.argsort(lengths, kind="stable").tolist()
    count = max(1, 16 // block)
    starts = [int((i + 0.5) / count * max(0, len(order) - block)) for i in range(count)]
    few = [position for start in starts for position in order[start : start + block]]
    timed: dict[int, float] = {}
    for size in sizes:
        run(size, few[:: max(1, len(few) // 4)])
        began = time.perf_counter()
        if len(sizes) > 1:
            run(size, few)
        timed[size] = time.perf_counter() - began
    best = chosen["batch"] = min(timed, key=lambda size: timed[size])
    return lambda: run(best, list(range(len(lengths))))
