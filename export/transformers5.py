"""Configuration keys that transformers 5 writes in another way, read as transformers 4 spells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorer.errors import CheckpointError

_FULL, _SLIDING = "full_attention", "sliding_attention"
_BASES = {_FULL: "global_rope_theta", _SLIDING: "local_rope_theta"}
"""Kinds of attention with the key of transformers 4 that holds the base of their rotary embedding."""
TOKENIZER = "TokenizersBackend"
"""The class of a tokenizer that is nothing but its tokenizer.json."""


def modernbert(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A config of ModernBERT with one spelling of its layers and rotary bases.

    ``rope_parameters`` becomes ``global_rope_theta`` and ``local_rope_theta``, ``layer_types`` becomes
    ``global_attn_every_n_layers``.

    Raises:
        CheckpointError: rotary embeddings or layers that transformers 4 cannot spell, or two spellings that disagree.
    """
    spelled = {key: value for key, value in config.items() if key not in ("rope_parameters", "layer_types")}
    bases = config.get("rope_parameters") or {}
    for kind, parameters in bases.items() if isinstance(bases, Mapping) else [("", bases)]:
        rope = {"rope_type": "default", **parameters} if isinstance(parameters, Mapping) else {}
        if kind not in _BASES or rope.get("rope_type") != "default" or rope.keys() - {"rope_type", "rope_theta"}:
            raise CheckpointError(
                f"{where}: rope_parameters is {bases!r}, but export supports only rope_theta with the rope_type "
                f"'default', for {' and '.join(_BASES)}"
            )
        if "rope_theta" in rope:
            _put(spelled, _BASES[kind], rope["rope_theta"], "rope_parameters", where)
    if config.get("layer_types") is not None:
        period = _period(config["layer_types"], config.get("num_hidden_layers"), where)
        stated = spelled.get("global_attn_every_n_layers")
        if stated is None or _kinds(stated, len(config["layer_types"])) != list(config["layer_types"]):
            _put(spelled, "global_attn_every_n_layers", period, "layer_types", where)
    return spelled


def _put(spelled: dict[str, Any], key: str, value: Any, source: str, where: str) -> None:
    """Set a key, unless the config has it with another value."""
    if spelled.get(key) not in (None, value):
        raise CheckpointError(
            f"{where}: {key} is {spelled[key]!r}, but {source} says {value!r}; remove the one that the model was not "
            "trained with"
        )
    spelled[key] = value


def _kinds(period: object, layers: int) -> list[str] | None:
    """Kinds of attention of the layers, where each ``period``-th attends to the whole text."""
    if type(period) is not int or period < 1:
        return None
    return [_SLIDING if layer % period else _FULL for layer in range(layers)]


def _period(types: object, layers: object, where: str) -> int:
    """Distance between two layers that attend to the whole text."""
    if isinstance(types, list) and type(layers) is int and len(types) == layers:
        for period in range(1, layers + 1):
            if _kinds(period, layers) == types:
                return period
    raise CheckpointError(
        f"{where}: layer_types is {types!r}, but export supports only {layers!r} layers of which each n-th, from the "
        f"first, is {_FULL!r} and the others {_SLIDING!r}"
    )
