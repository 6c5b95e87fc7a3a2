"""A verified checkpoint: its architecture, its labels, its tokenizer, and its model in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError

from .labels import label_order
from .source import Source, find_source
from .tokenization import PairTokenizer, read_tokenizer

ARCHITECTURE = "RobertaForSequenceClassification"
_SIZES = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
_PLAIN = {
    "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False,
    "pruned_heads": {}, "quantization_config": None,
}  # fmt: skip
"""Values of the config under which the model is the one that the graph's operators compute."""
_UNUSED = ("roberta.pooler.", "lm_head.")
_LARGEST = 2**31 - 2**20
"""Bytes of one ONNX file: protobuf ends at 2 GiB."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that can be exported.

    ``labels``: in the order of the logits' columns. ``max_length``: tokens of a whole pair. ``source`` and
    ``architecture``: as they stand in bundle.json. ``load``: the model in PyTorch, fp32, eager attention, eval mode.
    """

    name: str
    source: Mapping[str, Any]
    architecture: Mapping[str, Any]
    labels: tuple[str, ...]
    tokenizer: PairTokenizer
    max_length: int
    load: Callable[[], Any]


def open_checkpoint(
    checkpoint: str, revision: str | None, labels: Sequence[str] | None, log: Callable[[str], None]
) -> Checkpoint:
    """Find a checkpoint and check everything that can be checked without reading its weights.

    ``checkpoint``: a hub id or a folder. ``labels``: their order, where ``id2label`` does not say.

    Raises:
        CheckpointError: not found, or refused, with the reason.
        UsageError: ``labels`` are not the three labels.
    """
    source = find_source(checkpoint, revision, log)
    where = str(source.folder / "config.json")
    config = source.config
    known = check_config(config, where)
    order = label_order(config.get("id2label"), labels, where, log)
    tokenizer, model_max_length = read_tokenizer(source)
    tokenizer.check_ids(known["vocab_size"], known["pad_token_id"])
    return Checkpoint(
        name=source.name.split("/")[-1],
        source={
            "checkpoint": source.name,
            "revision": source.revision,
            "random_init": False,
            "files": source.hashes(),
        },
        architecture=describe(known),
        labels=order,
        tokenizer=tokenizer,
        max_length=longest_pair(known, model_max_length),
        load=lambda: _load(known, source),
    )


def check_config(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values of a config that make the model; everything else in it is ignored.

    Raises:
        CheckpointError: another architecture, or a value that changes what the model computes.
    """
    classes, model_type = config.get("architectures"), config.get("model_type")
    if model_type != "roberta" or classes != [ARCHITECTURE]:
        raise CheckpointError(
            f"{where}: architectures is {classes!r} and model_type {model_type!r}; export supports {ARCHITECTURE} "
            "(model_type roberta) and nothing else: choose such a checkpoint, for instance roberta-large-mnli"
        )
    for key, value in _PLAIN.items():
        if config.get(key, value) != value and not (config[key] is None and not value):
            raise CheckpointError(f"{where}: {key} is {config[key]!r}, but export supports only {value!r} there")
    known: dict[str, Any] = {}
    for key in (*_SIZES, "pad_token_id"):
        value = config.get(key, 1 if key == "pad_token_id" else None)
        if not isinstance(value, int) or isinstance(value, bool) or value < (0 if key == "pad_token_id" else 1):
            raise CheckpointError(f"{where}: {key} is {value!r}, expected a whole number")
        known[key] = value
    if known["hidden_size"] % known["num_attention_heads"]:
        raise CheckpointError(
            f"{where}: hidden_size {known['hidden_size']} cannot be shared by {known['num_attention_heads']} heads"
        )
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise CheckpointError(f"{where}: layer_norm_eps is {epsilon!r}, expected a small positive number")
    known["layer_norm_eps"] = epsilon
    size = 4 * parameter_count(known)
    if size > _LARGEST:
        raise CheckpointError(
            f"{where}: {size / 4e6:.0f} million parameters make {size / 1e9:.2f} GB in fp32, more than the 2 GiB of "
            "one ONNX file; choose a smaller checkpoint"
        )
    return known


def parameter_count(known: Mapping[str, Any]) -> int:
    """Parameters of the classifier with these sizes, known without building it."""
    h, i = known["hidden_size"], known["intermediate_size"]
    embeddings = (known["vocab_size"] + known["max_position_embeddings"] + known["type_vocab_size"] + 2) * h
    layer = 4 * (h * h + h) + (h * i + i) + (i * h + h) + 4 * h
    return int(embeddings + known["num_hidden_layers"] * layer + (h * h + h) + 3 * (h + 1))


def describe(known: Mapping[str, Any]) -> dict[str, Any]:
    """The ``architecture`` of bundle.json."""
    return {
        "model_type": "roberta",
        "class": ARCHITECTURE,
        "layers": known["num_hidden_layers"],
        "hidden_size": known["hidden_size"],
        "heads": known["num_attention_heads"],
        "intermediate_size": known["intermediate_size"],
        "vocab_size": known["vocab_size"],
        "parameters": parameter_count(known),
    }


def longest_pair(known: Mapping[str, Any], model_max_length: object) -> int:
    """Tokens of the longest pair: RoBERTa's positions start after the padding id, and the tokenizer may say less."""
    positions = int(known["max_position_embeddings"]) - int(known["pad_token_id"]) - 1
    sane = isinstance(model_max_length, int) and not isinstance(model_max_length, bool) and 0 < model_max_length < 10**6
    longest = min(positions, int(str(model_max_length))) if sane else positions
    if longest < 8:
        raise CheckpointError(f"a pair may have only {longest} tokens in this checkpoint; at least 8 are needed")
    return longest


def build_model(known: Mapping[str, Any]) -> Any:
    """The model in PyTorch with its weights not yet set: fp32, eager attention (the form that fuses), eval mode."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification
    from transformers.modeling_utils import no_init_weights

    config = RobertaConfig(**known, num_labels=3, bos_token_id=0, eos_token_id=2)
    with no_init_weights():
        model = RobertaForSequenceClassification._from_config(config, attn_implementation="eager", dtype=torch.float32)
    return model.eval()


def _load(known: Mapping[str, Any], source: Source) -> Any:
    import torch

    state = {}
    for path in source.weights:
        for key, value in _tensors(path):
            # Buffers that older versions saved, and heads that this class does not have.
            if not key.startswith(_UNUSED) and not key.endswith((".position_ids", ".token_type_ids")):
                state[_modern(key)] = value.to(torch.float32)
    model = build_model(known)
    try:
        keys = model.load_state_dict(state, strict=False, assign=True)
    except RuntimeError as e:  # torch lists the tensors on lines of their own
        detail = "; ".join(line.strip() for line in str(e).splitlines()[1:3])
        raise CheckpointError(
            f"{source.folder}: the weights do not fit config.json ({detail}); download it again"
        ) from e
    for what, names in (("lack", keys.missing_keys), ("hold, unknown to this architecture,", keys.unexpected_keys)):
        if names:
            raise CheckpointError(
                f"{source.folder}: the weights {what} {', '.join(names[:3])} ({len(names)} tensors); this is not a "
                f"complete {ARCHITECTURE}: give the fine-tuned classifier"
            )
    bad = [name for name, value in model.state_dict().items() if not torch.isfinite(value).all()]
    if bad:
        raise CheckpointError(f"{source.folder}: {bad[0]} holds NaN or infinity; download the checkpoint again")
    return model


def _tensors(path: Path) -> list[tuple[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return list(load_file(path).items())
    except (SafetensorError, OSError, ValueError) as e:
        raise CheckpointError(f"{path} is not a readable safetensors file ({e}); download it again") from e


def _modern(key: str) -> str:
    """Names of tensors in the oldest checkpoints, brought up to date."""
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
