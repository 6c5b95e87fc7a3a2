"""A full-size model with random weights and a tokenizer of the same kind, for benchmarks where no hub is at hand.

Its label means nothing, and is nearly always the same. What it shares with the real checkpoint is what speed depends
on: the architecture, the size of the vocabulary, and about as many tokens for a text. The vocabulary cannot be had
offline, so a byte-level BPE is trained on the exporter's own sentences and a list of common words and names with their
inflections: it reaches a third of the 50,265 tokens, rare names fall into more pieces, and a text has somewhat more
tokens than with the real one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from scorer.errors import UsageError
from scorer.inference.bundle import LABELS

from .checkpoint import Checkpoint, build_model, check_config, describe, longest_pair
from .sentences import SHORT, frame_pairs
from .tokenization import PairTokenizer
from .vocabulary import NAMES, WORDS

_COMMON = {
    "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1,
    "layer_norm_eps": 1e-5, "hidden_act": "gelu", "model_type": "roberta",
    "architectures": ["RobertaForSequenceClassification"],
}  # fmt: skip
PRESETS: dict[str, dict[str, Any]] = {
    "roberta-large": {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
    "roberta-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "roberta-tiny": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128},
}
"""Sizes by name; the last is for tests."""
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly", "'s")


def random_checkpoint(preset: str, seed: int) -> Checkpoint:
    """A checkpoint with random weights; the same for the same preset, seed and library versions.

    Raises:
        UsageError: there is no such preset.
    """
    if preset not in PRESETS:
        raise UsageError(f"--random-init {preset!r} is not known; choose one of {', '.join(PRESETS)}")
    known = check_config(_COMMON | PRESETS[preset], preset)
    tokenizer = PairTokenizer(train_tokenizer(int(known["vocab_size"])), "<pad>", f"the tokenizer of {preset}")
    tokenizer.check_ids(known["vocab_size"], known["pad_token_id"])
    return Checkpoint(
        name=f"{preset}-random",
        source={"checkpoint": preset, "revision": None, "random_init": True, "seed": seed, "files": {}},
        architecture=describe(known),
        labels=LABELS,
        tokenizer=tokenizer,
        max_length=longest_pair(known, 512),
        load=lambda: _random_model(known, seed),
    )


def _random_model(known: dict[str, Any], seed: int) -> Any:
    """Weights as RoBERTa starts pre-training, but none exactly 0 or 1, where operators could be folded away."""
    import torch

    model = build_model(known)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in sorted(model.named_parameters()):
            value.normal_(0.0, 0.02, generator=generator)
            if name.endswith("LayerNorm.weight"):
                value.add_(1.0)
        # Labels apart by far more than int8 moves a logit, as in a trained model; else no variant would keep them.
        model.classifier.out_proj.bias.add_(torch.tensor([-0.5, 0.0, 0.5]))
    return model


def train_tokenizer(vocab_size: int) -> str:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,  # <mask> comes last
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return str(tokenizer.to_str())


def _corpus() -> Iterator[str]:
    """Our sentences, and lines of words drawn by rank as in ordinary text, some inflected, some capitalised."""
    for _, *pairs in frame_pairs():
        for pair in pairs:
            yield f"{pair.premise} {pair.hypothesis}"
    yield from SHORT
    words, names = list(dict.fromkeys(WORDS.split())), NAMES.split()
    for word in words:  # every word at least twice, so that it can become a token
        yield f"{word} {word} {word.capitalize()} {word.capitalize()}"
    for name in names:
        yield f"{name} {name} {name} {name}"
    rng = random.Random(11)
    weights = [1 / (rank + 10) for rank in range(len(words))]
    for _ in range(6000):
        line = [word + rng.choice(_ENDINGS) for word in rng.choices(words, weights, k=12)]
        line += rng.choices(words, k=4) + rng.choices(names, k=3)
        line += [str(rng.randrange(10 ** rng.randrange(1, 5)))]
        yield " ".join(word.capitalize() if rng.random() < 0.15 else word for word in line) + "."
    # Years and dates stand in most texts about people and places.
    yield from (f"In {year}, on {year}-0{year % 9 + 1}-{year % 19 + 10}." for year in range(1850, 2031))
