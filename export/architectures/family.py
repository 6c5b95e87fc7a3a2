"""What the export must know of a family of checkpoints; one file of this folder a family.

Everything that differs between families is a field here. A checkpoint's config is read by the family's lists alone:
what they name is checked and given to transformers' own class, so that nothing else in a config can change what the
model computes; values under which the exported graph would be another one are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scorer.errors import CheckpointError

ENCODER, WHOLE = "encoder", "whole"
"""Forms of a graph. ``encoder``: attention is fused, and the last layer is computed for the first token alone.
``whole``: normalisation and GELU are fused, everything else is as transformers has it."""
BPE, WORDPIECE, UNIGRAM = "BPE", "WordPiece", "Unigram"
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Which keys of a config hold the sizes that all families have."""

    vocab: str = "vocab_size"
    hidden: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    intermediate: str = "intermediate_size"
    positions: str = "max_position_embeddings"


@dataclass(frozen=True)
class Preset:
    """A usual size of a family, for models with random weights. ``config``: without what all presets of it share."""

    name: str
    config: Config


def _no_offset(known: Config) -> int:
    return 0


def _nothing(config: Config, where: str) -> None:
    return None


@dataclass(frozen=True)
class Family:
    """A family of checkpoints: the classes of one ``model_type``.

    ``model_type``, ``architecture``, ``config_class``: as in config.json and in transformers. ``whole``: further keys
    that hold whole numbers, with their default (``None``: must be given). ``numbers``: keys that hold a small positive
    number, with their default. ``only``: keys with the values under which the model is the one that the graph computes,
    the default first; ``absent``: what such a key is where a config lacks it, if not that default. ``passed``: keys
    given to transformers as they are, after ``check`` looked at them. ``check``: what else is refused. ``unused``:
    beginnings of names of tensors that the classifier does not read. ``first_position``: positions of the table that
    come before the first token's. ``segments``: whether the model is fed segment ids. ``tokenizers``: kinds of
    tokenizers that its checkpoints have. ``fused``: fused operators of the graph by the number of layers, before it
    becomes a variant. ``special``: tokens of a model with random weights: first, separator, padding, unknown, mask.
    ``doubled_separator``: whether two separators stand between the texts. ``presets``: usual sizes.
    """

    model_type: str
    architecture: str
    config_class: str
    form: str
    tokenizers: tuple[str, ...]
    fused: Callable[[int], dict[str, int]]
    sizes: Sizes = Sizes()
    whole: Mapping[str, int | None] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    absent: Mapping[str, Any] = field(default_factory=dict)
    passed: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Config, str], None] = _nothing
    unused: tuple[str, ...] = ()
    first_position: Callable[[Config], int] = _no_offset
    segments: Callable[[Config], bool] = lambda known: False
    special: tuple[str, str, str, str, str] = ("<s>", "</s>", "<pad>", "<unk>", "<mask>")
    doubled_separator: bool = False
    presets: tuple[Preset, ...] = ()

    def read(self, config: Config, where: str) -> dict[str, Any]:
        """The values of a config that make the model; everything else in it is ignored.

        Raises:
            CheckpointError: a value that changes what the model computes, or one that cannot be.
        """
        known: dict[str, Any] = {}
        for key, values in self.only.items():
            found = config.get(key, self.absent.get(key, values[0]))
            if not any(found == value and type(found) is type(value) for value in values) and not (
                found is None and not values[0]
            ):
                expected = " or ".join(map(repr, values))
                raise CheckpointError(f"{where}: {key} is {found!r}, but export supports only {expected} there")
            if found is not None and found in values and key not in _NOT_PASSED:
                known[key] = found
        sizes = self.sizes
        required = dict.fromkeys(
            (sizes.vocab, sizes.hidden, sizes.layers, sizes.heads, sizes.intermediate, sizes.positions)
        )
        for key, default in {**required, **self.whole}.items():
            value = config.get(key, default)
            least = 1 if key in required else 0
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a whole number")
            known[key] = value
        if known[sizes.hidden] % known[sizes.heads]:
            raise CheckpointError(
                f"{where}: {sizes.hidden} {known[sizes.hidden]} cannot be shared by {known[sizes.heads]} heads"
            )
        for key, number in self.numbers.items():
            value = config.get(key, number)
            if not isinstance(value, float) or not 0 < value < 1e9:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a positive number")
            if key.endswith("eps") and value >= 1:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a small positive number")
            known[key] = value
        for key, default in self.passed.items():
            known[key] = config.get(key, default)
        self.check(known, where)
        return {key: value for key, value in known.items() if value is not None}

    def positions(self, known: Config) -> int:
        """Tokens of the longest pair that the table of positions has room for."""
        return int(known[self.sizes.positions]) - self.first_position(known)

    def describe(self, known: Config, parameters: int) -> dict[str, Any]:
        """The ``architecture`` of bundle.json."""
        sizes = self.sizes
        return {
            "model_type": self.model_type,
            "class": self.architecture,
            "layers": known[sizes.layers],
            "hidden_size": known[sizes.hidden],
            "heads": known[sizes.heads],
            "intermediate_size": known[sizes.intermediate],
            "vocab_size": known[sizes.vocab],
            "parameters": parameters,
        }

    def build(self, known: Config, labels: int, device: str = "cpu") -> Any:
        """The model in PyTorch with its weights not yet set: fp32, eager attention (the form that fuses), eval mode.

        ``labels``: logits of a pair.
        """
        import torch
        import transformers
        from transformers.modeling_utils import no_init_weights

        config = getattr(transformers, self.config_class)(**{**known, **self.fixed}, num_labels=labels)
        cls = getattr(transformers, self.architecture)
        with no_init_weights(), torch.device(device):
            model = cls._from_config(config, attn_implementation="eager", dtype=torch.float32)
        return model.eval()

    def parameters(self, known: Config, labels: int) -> int:
        """Parameters of the classifier, counted without memory for them."""
        return sum(value.numel() for value in self.build(known, labels, "meta").parameters())


_NOT_PASSED = ("quantization_config", "pruned_heads")
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "is_decoder": (False,), "add_cross_attention": (False,), "pruned_heads": ({},), "quantization_config": (None,),
}  # fmt: skip
"""Of every family: no decoder of texts, no layers without some heads, no weights in another format."""
