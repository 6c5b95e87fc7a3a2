"""Full-size models with random weights and tokenizers of the same kind, for benchmarks without access to a model hub.

They share with the real checkpoints what speed depends on: architecture, size of the vocabulary, about as many tokens
for a text. A tokenizer of the family's kind is trained on the exporter's own sentences and common words and names with
inflections: it reaches a third of RoBERTa's 50,265 tokens, so a text has somewhat more of them than with RoBERTa's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from export.checkpoint import Checkpoint, longest_pair
from export.families import BPE, FAMILIES, UNIGRAM, Family
from export.probes import pairs_of
from export.tokenization import PairTokenizer
from scorer.errors import UsageError
from scorer.inference.bundle import LABELS, NLI, CheckpointSource, Scheme

_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly", "'s")
_AS_ROBERTA = ("<s>", "</s>", "<pad>", "<unk>", "<mask>")
_AS_BERT = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
SPECIAL: Mapping[str, tuple[str, str, str, str, str]] = {
    "bert": _AS_BERT, "electra": _AS_BERT, "deberta-v2": _AS_BERT, "modernbert": _AS_BERT,
    "mpnet": ("<s>", "</s>", "<pad>", "[UNK]", "<mask>"),
}  # fmt: skip
"""Tokens by model type, where they are not RoBERTa's: first, separator, padding, unknown, mask."""
_TWO_SEPARATORS = ("roberta", "xlm-roberta", "camembert", "mpnet", "bart")
"""Model types with two separators between the texts."""

Build = Callable[[Family, Mapping[str, Any], int], Any]
"""A model in PyTorch of a family, a config and a seed."""


def _encoder(vocab: int, positions: int = 512, types: int = 2, **other: int) -> dict[str, Any]:
    """The config of an encoder, of the usual base size but for what is given."""
    return {
        "vocab_size": vocab, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": positions, "type_vocab_size": types, **other,
    }  # fmt: skip


_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
_TINY = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_ROBERTA = {"layer_norm_eps": 1e-5, "pad_token_id": 1}
_DEBERTA = {
    "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
    "pad_token_id": 1,
}  # fmt: skip
_MODERNBERT = {
    "vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12,
    "intermediate_size": 1152, "max_position_embeddings": 8192, "pad_token_id": 1,
}  # fmt: skip
_BART = {
    "vocab_size": 50265, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16,
    "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024,
}  # fmt: skip
_MPNET = {key: value for key, value in _encoder(30527, 514).items() if key != "type_vocab_size"}
PRESETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "roberta-large": ("roberta", _encoder(50265, 514, 1, **_LARGE) | _ROBERTA),
    "roberta-tiny": ("roberta", _encoder(50265, 514, 1) | _ROBERTA | _TINY),
    "xlm-roberta-base": ("xlm-roberta", _encoder(250002, 514, 1) | _ROBERTA),
    "camembert-base": ("camembert", _encoder(32005, 514, 1) | _ROBERTA),
    "minilm-l6": ("bert", _encoder(30522, hidden_size=384, num_hidden_layers=6, intermediate_size=1536)),
    "electra-base": ("electra", _encoder(30522, embedding_size=768)),
    "deberta-v3-base": ("deberta-v2", _encoder(128100) | _DEBERTA),
    "modernbert-base": ("modernbert", _MODERNBERT),
    "mpnet-base": ("mpnet", _MPNET | {"layer_norm_eps": 1e-5}),
    "bart-large": ("bart", _BART),
}  # fmt: skip
"""Model type and config of usual sizes, by name; what is called tiny is for tests."""


def random_checkpoint(name: str, seed: int, build: Build | None = None) -> Checkpoint:
    """A checkpoint with random weights, the same for the same preset, seed and versions. ``build``: makes the model."""
    if name not in PRESETS:
        raise UsageError(f"the preset {name!r} is not known; choose one of {', '.join(PRESETS)}")
    model_type, config = PRESETS[name]
    family = next(family for family in FAMILIES if family.model_type == model_type)
    model_config = family.read(config, name)
    text = train_tokenizer(model_config[family.sizes.vocab], family)
    padding = special_tokens(family)[2]
    tokenizer = PairTokenizer(
        text, padding, f"the tokenizer of {name}", family.tokenizers, family.segments(model_config)
    )
    tokenizer.check_ids(model_config[family.sizes.vocab], model_config.get("pad_token_id"))
    scheme = Scheme(NLI, LABELS)
    return Checkpoint(
        name=f"{name}-random",
        source=CheckpointSource(checkpoint=name, random_init=True, seed=seed),
        family=family,
        model_config=model_config,
        architecture=family.describe(model_config, family.parameters(model_config, scheme.width)),
        scheme=scheme,
        tokenizer=tokenizer,
        max_length=longest_pair(family.positions(model_config), 512),
        load=lambda: (build or _random_model)(family, model_config, seed),
    )


def _random_model(family: Family, model_config: Mapping[str, Any], seed: int) -> Any:
    """Weights as encoders start pre-training, but none exactly 0 or 1, where operators could be folded away."""
    import torch

    model = family.build(model_config, len(LABELS))
    norms = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.LayerNorm)}
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, value in sorted(model.named_parameters()):
            value.normal_(0.0, 0.02, generator=generator)
            if id(value) in norms:
                value.add_(1.0)
        # Labels apart by far more than int8 moves a logit, as in a trained model; else no variant would keep them.
        last = [part for part in model.modules() if isinstance(part, torch.nn.Linear)][-1]
        last.bias.add_(torch.tensor([-1.5, 0.0, 1.5]))
    return model


def special_tokens(family: Family) -> tuple[str, str, str, str, str]:
    """Tokens of a family: first, separator, padding, unknown, mask."""
    return SPECIAL.get(family.model_type, _AS_ROBERTA)


def train_tokenizer(vocab_size: int, family: Family = FAMILIES[0]) -> str:
    """The content of a tokenizer.json of a family's kind, with at most so many tokens."""
    kind, paired = family.tokenizers[0], family.model_type in _TWO_SEPARATORS
    first, separator, pad, unknown, mask = special_tokens(family)
    # Of BPE and Unigram the mask comes last.
    options: dict[str, Any] = {"vocab_size": vocab_size - 1, "special_tokens": [first, pad, separator, unknown]}
    trainer: Any
    if kind == BPE:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trainer = trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False, **options)
    elif kind == UNIGRAM:
        tokenizer = Tokenizer(models.Unigram())
        blanks = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), blanks])
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token=unknown, show_progress=False, **options)
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        special = [*options["special_tokens"], mask] if paired else [pad, unknown, first, separator, mask]
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(_corpus(), trainer)
    if kind in (BPE, UNIGRAM):
        tokenizer.add_special_tokens([mask])
    if kind == BPE and paired:
        tokenizer.post_processor = processors.RobertaProcessing(
            (separator, 2), (first, 0), trim_offsets=True, add_prefix_space=False
        )
    else:
        tokenizer.post_processor = _template(tokenizer, family)
    return str(tokenizer.to_str())


def _template(tokenizer: Any, family: Family) -> Any:
    """``first A separator B separator``, the second part in segment 1, or in 0 behind two separators."""
    first, separator = special_tokens(family)[:2]
    between = f"{separator}:0 {separator}:0" if family.model_type in _TWO_SEPARATORS else f"{separator}:0"
    second = "0" if family.model_type in _TWO_SEPARATORS else "1"
    return processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {separator}:0",
        pair=f"{first}:0 $A:0 {between} $B:{second} {separator}:{second}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (first, separator)],
    )


def _corpus() -> Iterator[str]:
    """Our sentences, and lines of the words of ``random_words.txt`` (the common ones first, then names), drawn by rank
    as in ordinary text, some inflected, some capitalised."""
    yield from (f"{pair.premise} {pair.hypothesis}" for pair in pairs_of("pool"))
    text = Path(__file__).with_name("random_words.txt").read_text(encoding="utf-8")
    words, names = (part.split() for part in text.split("\n\n"))
    words = list(dict.fromkeys(words))
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
