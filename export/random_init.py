"""Full-size models with random weights and tokenizers of the same kind, for benchmarks without access to a model hub.

Their labels mean nothing, and are nearly always the same. What they share with the real checkpoints is what speed
depends on: the architecture, the size of the vocabulary, and about as many tokens for a text. A vocabulary cannot be
had offline, so a tokenizer of the family's kind is trained on the exporter's own sentences and a list of common words
and names with their inflections: it reaches a third of RoBERTa's 50,265 tokens, rare names fall into more pieces, and
a text has somewhat more tokens than with the real one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from scorer.errors import UsageError
from scorer.inference.bundle import CheckpointSource
from scorer.inference.scheme import LABELS, NLI, Scheme

from .architectures import FAMILIES, Family
from .architectures.family import BPE, UNIGRAM, Preset
from .checkpoint import Checkpoint, longest_pair
from .sentences import SHORT, frame_pairs
from .tokenization import PairTokenizer
from .vocabulary import NAMES, WORDS

PRESETS: dict[str, tuple[Family, Preset]] = {
    preset.name: (family, preset) for family in FAMILIES for preset in family.presets
}
"""Sizes by name; those called tiny are for tests."""
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly", "'s")


def random_checkpoint(name: str, seed: int) -> Checkpoint:
    """A checkpoint with random weights; the same for the same preset, seed and library versions.

    Raises:
        UsageError: there is no such preset.
    """
    if name not in PRESETS:
        raise UsageError(f"--random-init {name!r} is not known; choose one of {', '.join(PRESETS)}")
    family, preset = PRESETS[name]
    known = family.read(preset.config, name)
    text = train_tokenizer(known[family.sizes.vocab], family)
    where = f"the tokenizer of {name}"
    tokenizer = PairTokenizer(text, family.special[2], where, family.tokenizers, family.segments(known))
    tokenizer.check_ids(known[family.sizes.vocab], known.get("pad_token_id"))
    scheme = Scheme(NLI, LABELS)
    return Checkpoint(
        name=f"{name}-random",
        source=CheckpointSource(checkpoint=name, random_init=True, seed=seed),
        family=family,
        known=known,
        architecture=family.describe(known, family.parameters(known, scheme.width)),
        scheme=scheme,
        tokenizer=tokenizer,
        max_length=longest_pair(family.positions(known), 512),
        load=lambda: _random_model(family, known, seed),
    )


def _random_model(family: Family, known: Mapping[str, Any], seed: int) -> Any:
    """Weights as encoders start pre-training, but none exactly 0 or 1, where operators could be folded away."""
    import torch

    model = family.build(known, len(LABELS))
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


def train_tokenizer(vocab_size: int, family: Family = FAMILIES[0]) -> str:
    """A tokenizer of a family's kind as the content of tokenizer.json, with at most so many tokens."""
    kind = family.tokenizers[0]
    if kind == BPE:
        return _bpe(vocab_size, family)
    return _unigram(vocab_size, family) if kind == UNIGRAM else _wordpiece(vocab_size, family)


def _bpe(vocab_size: int, family: Family) -> str:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    first, separator, pad, unknown, mask = family.special
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,  # <mask> comes last
        special_tokens=[first, pad, separator, unknown],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.add_special_tokens([mask])
    if family.doubled_separator:
        tokenizer.post_processor = processors.RobertaProcessing(
            (separator, 2), (first, 0), trim_offsets=True, add_prefix_space=False
        )
    else:
        tokenizer.post_processor = _template(tokenizer, family)
    return str(tokenizer.to_str())


def _wordpiece(vocab_size: int, family: Family) -> str:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    first, separator, pad, unknown, mask = family.special
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    as_bert, as_roberta = [pad, unknown, first, separator, mask], [first, pad, separator, unknown, mask]
    special = as_roberta if family.doubled_separator else as_bert
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.post_processor = _template(tokenizer, family)
    return str(tokenizer.to_str())


def _unigram(vocab_size: int, family: Family) -> str:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    first, separator, pad, unknown, mask = family.special
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size - 1,
        special_tokens=[first, pad, separator, unknown],
        unk_token=unknown,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.add_special_tokens([mask])
    tokenizer.post_processor = _template(tokenizer, family)
    return str(tokenizer.to_str())


def _template(tokenizer: Any, family: Family) -> Any:
    """``first A separator B separator``, the second part in segment 1; with two separators between where a family has
    them."""
    from tokenizers.processors import TemplateProcessing

    first, separator = family.special[:2]
    between = f"{separator}:0 {separator}:0" if family.doubled_separator else f"{separator}:0"
    second = "0" if family.doubled_separator else "1"
    return TemplateProcessing(
        single=f"{first}:0 $A:0 {separator}:0",
        pair=f"{first}:0 $A:0 {between} $B:{second} {separator}:{second}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (first, separator)],
    )


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
