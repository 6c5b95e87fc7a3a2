"""Checkpoint, bundle, and the formats that peers need, each made once in a folder.

The checkpoint has random weights and is written as a folder that every library opens. Each part is made in a process
of its own, because a full-size model needs the memory, and in a folder that is renamed when it is complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from .harness import measured

TOKENIZER_CONFIG = {
    # The generic class, and what it feeds: libraries that know RoBERTa by name may rebuild its tokenizer their way.
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "attention_mask"],
    "model_max_length": 512,
    **dict.fromkeys(("bos_token", "cls_token"), "<s>"),
    **dict.fromkeys(("eos_token", "sep_token"), "</s>"),
    **{f"{name}_token": f"<{name}>" for name in ("unk", "pad", "mask")},
}


def write_tokenizer_config(folder: Path) -> None:
    special = {key: value for key, value in TOKENIZER_CONFIG.items() if key.endswith("_token")}
    for name, content in (("tokenizer_config", TOKENIZER_CONFIG), ("special_tokens_map", special)):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1))


def _checkpoint(folder: Path, out: Path, preset: str) -> None:
    from benchmarks.speed.random_init import random_checkpoint

    checkpoint = random_checkpoint(preset, seed=0)
    model = checkpoint.load()
    model.config.id2label = dict(enumerate(checkpoint.scheme.labels))
    model.config.label2id = {label: i for i, label in enumerate(checkpoint.scheme.labels)}
    model.save_pretrained(out, safe_serialization=True)
    (out / "tokenizer.json").write_text(checkpoint.tokenizer.text, encoding="utf-8")
    write_tokenizer_config(out)


def _bundle(folder: Path, out: Path, preset: str) -> None:
    from export import export_bundle

    # Forced, because random weights contradict their labels.
    source = str(folder / "checkpoint")
    export_bundle(source, out, precisions=("fp32", "int8"), name=f"{preset}-random", force=True)


def _onnx(folder: Path, out: Path, preset: str) -> None:
    """As sentence-transformers' documentation makes it: plain, optimised (O3), and dynamic int8."""
    from sentence_transformers import CrossEncoder, export_dynamic_quantized_onnx_model, export_optimized_onnx_model

    for path in (folder / "checkpoint").iterdir():
        (out / path.name).symlink_to(path.resolve())
    model = CrossEncoder(str(out), backend="onnx", device="cpu", model_kwargs={"export": True})
    model.save_pretrained(str(out))
    export_optimized_onnx_model(model, "O3", str(out))
    export_dynamic_quantized_onnx_model(model, "avx512_vnni", str(out))


def _openvino(folder: Path, out: Path, preset: str) -> None:
    """OpenVINO IR: fp32, and int8 by NNCF's post-training quantisation for transformers."""
    import nncf
    import numpy as np
    import openvino as ov
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from benchmarks.speed.sample import make_inputs, render

    source = str(folder / "checkpoint")
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForSequenceClassification.from_pretrained(source, dtype=torch.float32).eval()
    rng = np.random.default_rng(99)  # another seed than the sample's
    rows = make_inputs(rng, 48)
    texts = [render(rng, row, i % 3) for i, row in enumerate(rows)]
    facts = [f"The {row[0][1]} of {row[0][0]} is {row[0][2]}." for row in rows]
    example = dict(tokenizer(texts[:2], facts[:2], padding=True, return_tensors="pt"))
    with torch.inference_mode():
        converted = ov.convert_model(model, example_input=example)
    ov.save_model(converted, str(out / "model.fp32.xml"), compress_to_fp16=False)
    feeds = [dict(tokenizer(text, fact, return_tensors="np")) for text, fact in zip(texts, facts, strict=True)]
    kind = {"model_type": nncf.ModelType.TRANSFORMER, "preset": nncf.QuantizationPreset.MIXED}
    quantised = nncf.quantize(converted, nncf.Dataset(feeds), subset_size=len(feeds), **kind)
    ov.save_model(quantised, str(out / "model.int8.xml"), compress_to_fp16=False)


PARTS: dict[str, Callable[[Path, Path, str], None]] = {
    "checkpoint": _checkpoint, "bundle": _bundle, "onnx": _onnx, "openvino": _openvino,
}  # fmt: skip


def prepare(folder: Path, preset: str, say: Callable[[str], None]) -> dict[str, str]:
    """Make the missing parts below ``folder``; the reason for each that failed, by its name. Without checkpoint or
    bundle, nothing can be compared: a SystemExit."""
    failed: dict[str, str] = {}
    for part, make in PARTS.items():
        if (folder / part).is_dir():
            continue
        temporary, log = folder / f".{part}", folder / f"{part}.log"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            found = measured(make, folder, temporary, preset, log=log)
            temporary.rename(folder / part)
            say(f"{part}: made in {found['seconds']:.0f} s")
        except Exception as error:  # of any library
            failed[part] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            if part in ("checkpoint", "bundle"):
                raise SystemExit(f"{part} could not be made: {failed[part]}; all of it is in {log}") from error
            say(f"{part}: {failed[part]}")
    return failed
