"""Tiny random checkpoints of every family, as transformers itself saves them, and what it answers itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
import transformers
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from benchmarks.speed.random_init import PRESETS, special_tokens, train_tokenizer
from export import export_bundle
from export.checkpoint import Checkpoint, open_checkpoint
from export.families import FAMILIES, Family
from export.graph import export_fused
from export.labels import AS_STATED
from export.toolchain import quiet
from scorer.inference.bundle import Bundle
from scorer.inference.device import CPU
from scorer.inference.verification import open_engine

LAYERS, VOCABULARY = 2, 700
SPECIAL_NAMES = ("cls_token", "sep_token", "pad_token", "unk_token", "mask_token")
PAIRS = [
    ("Blue Spice is a pub near the river.", "Blue Spice is a pub."),
    ("", "A"),
    ("The Mill, a naïve café, serves Café food; it costs £20-25.", "The Mill is not cheap at all!"),
    ("Alan Bean was born on 1932-03-15 in Wheeler, Texas.", "The birth place of Alan Bean is Wheeler, Texas."),
    ("a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9", "It rains."),
    ("  two  blanks ", "line\nbreak"),
]
SMALLER: dict[str, dict[str, Any]] = {
    "electra": {"embedding_size": 16},
    "deberta-v2": {"position_buckets": 8},
    "modernbert": {"local_attention": 16, "global_attn_every_n_layers": 2},
    "bart": {"decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 48},
}
"""What else of a family's usual config is made small."""
ID2LABEL = {0: "entailment", 1: "neutral", 2: "contradiction"}


def family_of(model_type: str) -> Family:
    return next(family for family in FAMILIES if family.model_type == model_type)


def usual_config(model_type: str) -> dict[str, Any]:
    """The config of a usual size of a family."""
    return dict([config for found, config in PRESETS.values() if found == model_type][-1])


def make_checkpoint(
    folder: Path, model_type: str, *, id2label: Mapping[int, str] = ID2LABEL, half: bool = False, **config: Any
) -> Path:
    """A checkpoint of two layers with large random weights, so that all labels occur; with ``half`` its weights are
    half-precision numbers. ``config``: changes of the family's config."""
    family = family_of(model_type)
    sizes = family.sizes
    small = {
        **usual_config(model_type),
        sizes.vocab: VOCABULARY, sizes.hidden: 32, sizes.layers: LAYERS, sizes.heads: 4, sizes.intermediate: 48,
        sizes.positions: 130, **SMALLER.get(model_type, {}),
    }  # fmt: skip
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(train_tokenizer(VOCABULARY, family)),
        **dict(zip(SPECIAL_NAMES, special_tokens(family), strict=True)),
        model_input_names=["input_ids", "attention_mask", "token_type_ids"],
    )
    made = getattr(transformers, family.config_class)(
        **{**small, **config, "pad_token_id": tokenizer.pad_token_id}, eos_token_id=tokenizer.sep_token_id,
        bos_token_id=tokenizer.cls_token_id, num_labels=len(id2label), id2label=dict(id2label),
        label2id={label: column for column, label in id2label.items()},
    )  # fmt: skip
    torch.manual_seed(3)
    model = getattr(transformers, family.architecture)(made).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for value in model.parameters():
            value.normal_(0.0, 0.15, generator=generator)
        for part in model.modules():
            if isinstance(part, torch.nn.LayerNorm):
                part.weight.add_(1.0)
        last = [part for part in model.modules() if isinstance(part, torch.nn.Linear)][-1]
        last.weight.mul_(5)
        # Every label is near for some pair, so that a wrong input or a wrong number shows in the labels.
        last.bias.sub_(_logits(model, tokenizer, family, PAIRS).mean(dim=0))
        for value in model.parameters():
            value.copy_(value.half() if half else value)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


def opened(checkpoint: Path) -> Checkpoint:
    return open_checkpoint(str(checkpoint), None, AS_STATED, lambda _: None)


def fuse(checkpoint: Path, path: Path) -> None:
    """Write a checkpoint's fused graph, before it becomes variants."""
    found = opened(checkpoint)
    with quiet():
        export_fused(found.load(), found.family, found.architecture, found.tokenizer.layout.segments, path)


def exported(checkpoint: Path, out: Path, **options: Any) -> Bundle:
    """The bundle of a checkpoint; forced, unless the options say otherwise."""
    quietly: dict[str, Any] = {"force": True, "log": lambda _: None}
    return Bundle.load(export_bundle(str(checkpoint), out, **quietly | options))


def expected_logits(folder: Path, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """What transformers' own tokenizer and model say of each pair by itself. *Shape:* (pairs, labels)."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    family = family_of(json.loads((folder / "config.json").read_text())["model_type"])
    with torch.inference_mode():
        return _logits(model, PreTrainedTokenizerFast.from_pretrained(folder), family, pairs).numpy()


def _logits(model: Any, tokenizer: Any, family: Family, pairs: Sequence[tuple[str, str]]) -> Any:
    found = []
    for premise, hypothesis in pairs:
        feed = dict(tokenizer(premise, hypothesis, return_tensors="pt"))
        if not family.segments(vars(model.config)):
            feed.pop("token_type_ids", None)
        found.append(model(**feed).logits[0])
    return torch.stack(found)


def engine_logits(bundle: Bundle, pairs: Sequence[tuple[str, str]], **options: Any) -> np.ndarray:
    """What the engine says of pairs in one call. *Shape:* (pairs, labels)."""
    with open_engine(bundle, device="cpu", threads=1, **options) as engine:
        return engine.logits(*map(list, zip(*pairs, strict=True)))


def padded_logits(graph: Path | bytes, tolerance: float = 2e-6) -> np.ndarray:
    """Logits of rows of different lengths, which must not depend on their padding; the graph runs as it is."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(graph, options, providers=[CPU])
    lengths = np.array([7, 31, 3, 18, 1])
    mask = (np.arange(31) < lengths[:, None]).astype(np.int64)
    ids = np.where(mask, np.random.default_rng(3).integers(4, 490, mask.shape), 1)
    found = session.run(["logits"], {"input_ids": ids, "attention_mask": mask})[0]
    for row, length in enumerate(lengths):
        alone = {"input_ids": ids[row : row + 1, :length], "attention_mask": mask[row : row + 1, :length]}
        np.testing.assert_allclose(session.run(["logits"], alone)[0][0], found[row], atol=tolerance)
    return found


def edit_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON object in a file, which is made if it is not there."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | changes), encoding="utf-8")
