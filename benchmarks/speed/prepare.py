"""Prepare once what the settings of the benchmark load: checkpoint, bundle, and the formats that peers need.

    python -m benchmarks.speed.prepare --preset roberta-large --folder .bench [--parts checkpoint bundle onnx openvino]

The checkpoint has random weights (:mod:`benchmarks.speed.random_init`) and is written as a folder that every library
opens, so that all settings run the same weights. Each part is made in its own process, because a full-size model needs
the memory, and in a folder that is renamed when it is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PARTS = ("checkpoint", "bundle", "onnx", "openvino")
TOKENIZER_CONFIG = {
    # The generic class, and what it feeds: libraries that know RoBERTa by name may rebuild its tokenizer their way.
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "attention_mask"],
    "model_max_length": 512,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "cls_token": "<s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}


def make_checkpoint(folder: Path, out: Path, preset: str, precisions: Sequence[str]) -> None:
    """Random weights and their tokenizer as a checkpoint folder."""
    from benchmarks.speed.random_init import random_checkpoint

    checkpoint = random_checkpoint(preset, seed=0)
    model = checkpoint.load()
    model.config.id2label = dict(enumerate(checkpoint.labels))
    model.config.label2id = {label: i for i, label in enumerate(checkpoint.labels)}
    model.save_pretrained(out, safe_serialization=True)
    (out / "tokenizer.json").write_text(checkpoint.tokenizer.text, encoding="utf-8")
    (out / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=1))
    special = {key: value for key, value in TOKENIZER_CONFIG.items() if key.endswith("_token")}
    (out / "special_tokens_map.json").write_text(json.dumps(special, indent=1))


def make_bundle(folder: Path, out: Path, preset: str, precisions: Sequence[str]) -> None:
    """Our bundle of the checkpoint."""
    from export import export_bundle

    # Forced, because random weights contradict their labels.
    export_bundle(str(folder / "checkpoint"), out, precisions=precisions, name=f"{preset}-random", force=True)


def make_onnx(folder: Path, out: Path, preset: str, precisions: Sequence[str]) -> None:
    """ONNX as sentence-transformers' documentation makes it: plain, optimised (O3), and dynamic int8."""
    from sentence_transformers import (
        CrossEncoder,
        export_dynamic_quantized_onnx_model,
        export_optimized_onnx_model,
    )

    for path in (folder / "checkpoint").iterdir():
        (out / path.name).symlink_to(path.resolve())
    model = CrossEncoder(str(out), backend="onnx", device="cpu", model_kwargs={"export": True})
    model.save_pretrained(str(out))
    export_optimized_onnx_model(model, "O3", str(out))
    export_dynamic_quantized_onnx_model(model, "avx512_vnni", str(out))


def make_openvino(folder: Path, out: Path, preset: str, precisions: Sequence[str]) -> None:
    """OpenVINO IR: fp32, and int8 by NNCF's post-training quantisation for transformers."""
    import nncf
    import openvino as ov
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    source = str(folder / "checkpoint")
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForSequenceClassification.from_pretrained(source, dtype=torch.float32).eval()
    pairs = _calibration_pairs()
    example = dict(tokenizer(*map(list, zip(*pairs[:2], strict=True)), padding=True, return_tensors="pt"))
    with torch.inference_mode():
        converted = ov.convert_model(model, example_input=example)
    del model
    ov.save_model(converted, str(out / "model.fp32.xml"), compress_to_fp16=False)
    feeds = [dict(tokenizer(*pair, return_tensors="np")) for pair in pairs]
    quantised = nncf.quantize(
        converted,
        nncf.Dataset(feeds),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(feeds),
    )
    ov.save_model(quantised, str(out / "model.int8.xml"), compress_to_fp16=False)


def _calibration_pairs() -> list[tuple[str, str]]:
    """Pairs of a text with one of its facts, from rows of another seed than the sample's."""
    import numpy as np

    from benchmarks.speed import make_rows

    rng = np.random.default_rng(99)
    asked = make_rows.inputs(rng, 48)
    texts = [make_rows.render(rng, one, i % 3) for i, one in enumerate(asked)]
    return [(text, f"The {one[0][1]} of {one[0][0]} is {one[0][2]}.") for one, text in zip(asked, texts, strict=True)]


_MAKERS: dict[str, Callable[[Path, Path, str, Sequence[str]], None]] = {
    "checkpoint": make_checkpoint,
    "bundle": make_bundle,
    "onnx": make_onnx,
    "openvino": make_openvino,
}


def prepare(
    folder: Path,
    preset: str,
    parts: Sequence[str],
    precisions: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
    log: Callable[[str], None] = print,
) -> dict[str, str]:
    """Make the missing parts below ``folder``; returns the reason for each part that failed, by its name.

    Raises:
        SystemExit: the checkpoint or the bundle could not be made; without them, nothing can be compared.
    """
    failed: dict[str, str] = {}
    for part in parts:
        if (folder / part).is_dir():
            continue
        began = time.perf_counter()
        command = [
            python,
            "-m",
            "benchmarks.speed.prepare",
            "--folder",
            str(folder),
            "--preset",
            preset,
            "--inner",
            part,
        ]
        done = subprocess.run(
            [*command, "--precision", ",".join(precisions)],
            env=dict(environment or os.environ),
            capture_output=True,
            text=True,
        )
        (folder / f"{part}.log").write_text(done.stdout + done.stderr)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
            failed[part] = lines[-1].strip()[:200]
            if part in ("checkpoint", "bundle"):
                raise SystemExit(f"{part} could not be made: {failed[part]}; all of it in {folder / f'{part}.log'}")
        log(f"{part}: {failed.get(part, f'made in {time.perf_counter() - began:.0f} s')}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--preset", default="roberta-large")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--precision", default="fp32,int8", help="comma-separated variants of our bundle")
    parser.add_argument("--inner", choices=PARTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if not args.inner:
        prepare(args.folder, args.preset, args.parts, args.precision.split(","))
        return
    out = args.folder / args.inner
    temporary = args.folder / f".{args.inner}.{os.getpid()}"
    temporary.mkdir()
    try:
        _MAKERS[args.inner](args.folder, temporary, args.preset, args.precision.split(","))
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    main()
