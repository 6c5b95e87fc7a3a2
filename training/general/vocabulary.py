"""A smaller vocabulary: the word pieces that English text of the training data uses, and every single character.

WordPiece takes the longest piece that fits, so a word whose piece was cut is written with shorter pieces; it never
becomes unknown as long as its characters are in the vocabulary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
LONGEST = 512


def make_tokenizer(pieces: dict[str, int]) -> Tokenizer:
    """An uncased BERT tokenizer over these pieces, without truncation or padding."""
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])],
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    """The word pieces in the order of their ids."""
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def is_single(piece: str) -> bool:
    """Whether a piece is one character, at a word's start or inside it."""
    return len(piece.removeprefix("##")) == 1


def cut(base: dict[str, int], texts: Iterable[str], size: int) -> list[str]:
    """At most `size` pieces of `base`: special tokens, single characters, then the most frequent in `texts`.

    The order is that of the base's ids, after the special tokens.
    """
    tokenizer = make_tokenizer(base)
    tokenizer.encode_special_tokens = True
    counts: Counter[int] = Counter()
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == 4096:
            counts.update(i for e in tokenizer.encode_batch(chunk, add_special_tokens=False) for i in e.ids)
            chunk = []
    counts.update(i for e in tokenizer.encode_batch(chunk, add_special_tokens=False) for i in e.ids)
    kept = {piece for piece in base if is_single(piece)}
    frequent = sorted(base, key=lambda piece: (-counts[base[piece]], base[piece]))
    for piece in frequent:
        if len(kept) + len(SPECIAL) >= size or not counts[base[piece]]:
            break
        if piece not in SPECIAL:
            kept.add(piece)
    return [*SPECIAL, *sorted(kept, key=base.__getitem__)]


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json and the two small files that transformers expects with it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": LONGEST,
              "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
              "mask_token": "[MASK]"}  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
