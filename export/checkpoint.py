"""A verified checkpoint: its family, its labels, its tokenizer, and its model in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError
from scorer.inference.bundle import CheckpointSource, Scheme

from .families import Family, find_family
from .labels import Task, choose_scheme
from .source import Source, find_source
from .tokenization import PairTokenizer, read_tokenizer

_BUFFERS = (".position_ids", ".token_type_ids")
"""Endings of names that older versions saved and that hold no weights."""
_LAST_WEIGHTS = ("classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that can be exported."""

    name: str
    source: CheckpointSource
    """Its origin, as in bundle.json."""
    family: Family
    model_config: Mapping[str, Any]
    """The values of its config that determine the model (:meth:`.Family.read`)."""
    architecture: Mapping[str, Any]
    """Its sizes, as in bundle.json."""
    scheme: Scheme
    """The meaning of its logits."""
    tokenizer: PairTokenizer
    max_length: int
    """Tokens of the longest pair."""
    load: Callable[[], Any]
    """Loads the model in PyTorch, fp32, eager attention, eval mode."""
    load_reference: Callable[[], Any] = lambda: None
    """Loads it as transformers itself does, with every key of the config; gives ``None`` if transformers fails."""
    languages: tuple[str, ...] = ()
    """Codes of the languages that its card names."""


def open_checkpoint(checkpoint: str, revision: str | None, task: Task, log: Callable[[str], None]) -> Checkpoint:
    """Find a checkpoint and check everything that can be checked without reading its weights.

    Args:
        checkpoint: a hub id or a folder.
        task: the user's statements about its logits and pairs.

    Raises:
        CheckpointError: not found, or refused, with the reason.
        UsageError: ``task`` contradicts itself or the checkpoint.
    """
    source = find_source(checkpoint, revision, log)
    where = str(source.folder / "config.json")
    config = source.config
    family = find_family(config, where)
    model_config = family.read(config, where)
    scheme = choose_scheme(config, task, where, log, _logits_of(source))
    tokenizer, model_max_length = read_tokenizer(source, family, model_config, task.hypothesis_first, task.one_text)
    tokenizer.check_ids(model_config[family.sizes.vocab], config.get("pad_token_id", model_config.get("pad_token_id")))
    return Checkpoint(
        name=source.name.split("/")[-1],
        source=CheckpointSource(checkpoint=source.name, revision=source.revision, files=source.hashes()),
        family=family,
        model_config=model_config,
        architecture=family.describe(model_config, family.parameters(model_config, scheme.width)),
        scheme=scheme,
        tokenizer=tokenizer,
        max_length=longest_pair(family.positions(model_config), model_max_length),
        load=lambda: _load(family, model_config, scheme.width, source),
        languages=source.languages(),
        load_reference=lambda: _load_by_transformers(family, scheme.width, source),
    )


def longest_pair(positions: int, model_max_length: object) -> int:
    """Tokens of the longest pair: as many as the model has positions for, or fewer where the tokenizer allows fewer.

    Raises:
        CheckpointError: fewer than 8.
    """
    sane = isinstance(model_max_length, int) and not isinstance(model_max_length, bool) and 0 < model_max_length < 10**6
    longest = min(positions, int(str(model_max_length))) if sane else positions
    if longest < 8:
        raise CheckpointError(f"a pair may have only {longest} tokens in this checkpoint; at least 8 are needed")
    return longest


def _load(family: Family, model_config: Mapping[str, Any], labels: int, source: Source) -> Any:
    import torch

    state = {}
    for path in source.weights:
        for key, value in _tensors(path):
            # Buffers that older versions saved, and heads that this class does not have.
            if not key.startswith(family.unused) and not key.endswith(_BUFFERS):
                state[_modern(key)] = value.to(torch.float32)
    model = family.build(model_config, labels)
    _fill_tied(model, state)
    try:
        keys = model.load_state_dict(state, strict=False, assign=True)
    except RuntimeError as e:  # torch lists the tensors on lines of their own
        detail = "; ".join(line.strip() for line in str(e).splitlines()[1:3])
        raise CheckpointError(
            f"{source.folder}: the weights do not fit config.json ({detail}); download it again"
        ) from e
    for fault, names in (("lack", keys.missing_keys), ("hold, unknown to this architecture,", keys.unexpected_keys)):
        if names:
            raise CheckpointError(
                f"{source.folder}: the weights {fault} {', '.join(names[:3])} ({len(names)} tensors); this is not a "
                f"complete {family.architecture}: give the fine-tuned classifier"
            )
    not_finite = [name for name, value in model.state_dict().items() if not torch.isfinite(value).all()]
    if not_finite:
        raise CheckpointError(f"{source.folder}: {not_finite[0]} holds NaN or infinity; download the checkpoint again")
    return model


def _load_by_transformers(family: Family, labels: int, source: Source) -> Any:
    """The model as transformers makes it of the whole config.json; ``None`` where it does not load all of its weights.

    Nothing of :meth:`Family.read` goes in but the spelling of keys, so that a key that was read wrongly shows.
    """
    import torch
    import transformers

    config = dict(family.spelling(source.config, str(source.folder / "config.json")))
    names = {"id2label": {i: f"label_{i}" for i in range(labels)}, "label2id": {f"label_{i}": i for i in range(labels)}}
    try:
        model, loaded = getattr(transformers, family.architecture).from_pretrained(
            source.folder,
            config=getattr(transformers, family.config_class).from_dict({**config, **names, "num_labels": labels}),
            dtype=torch.float32,
            attn_implementation="eager",
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception:  # of every kind, from the library's own to those of the Rust code below it
        return None
    if loaded["missing_keys"] or loaded["mismatched_keys"] or loaded["error_msgs"]:
        return None
    return model.eval()


def _fill_tied(model: Any, state: dict[str, Any]) -> None:
    """Give every name of a tensor that a model has under several names, since a checkpoint holds one of them."""
    names: dict[int, list[str]] = {}
    for name, value in model.state_dict(keep_vars=True).items():
        names.setdefault(id(value), []).append(name)
    for group in names.values():
        stored = next((name for name in group if name in state), None)
        if stored is not None:
            state.update({name: state[stored] for name in group if name not in state})


def _logits_of(source: Source) -> int | None:
    """Logits of a pair, by the shape of the last weight of the head; ``None`` where no name is known."""
    from safetensors import SafetensorError, safe_open

    for path in source.weights:
        try:
            with safe_open(path, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - no mapping
                    if name.endswith(_LAST_WEIGHTS):
                        return int(tensors.get_slice(name).get_shape()[0])
        except (SafetensorError, OSError, ValueError) as e:
            raise CheckpointError(f"{path} is not a readable safetensors file ({e}); download it again") from e
    return None


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
