"""The general model's word pieces, and NLI pairs, tokenised once, with how often each is drawn.

The pieces are BERT's uncased ones, cut to 16,000 before the first run and kept since. Columns of the pairs' Parquet
file: premise, hypothesis, label, source, tier, licence, may_ship. Weights that ship are trained on rows with `may_ship`
alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
LONGEST = 512


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a checkpoint or bundle; it reads special tokens in a text as characters."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    """The word pieces in the order of their ids."""
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json and the small file that transformers expects with it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": LONGEST,
              "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
              "mask_token": "[MASK]"}  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


NOT_ENTAILMENT = 3
UNLABELLED = 4
"""A pair whose only target is what an earlier network says of it."""
LABEL_IDS = {"contradiction": 0, "neutral": 1, "entailment": 2, "not_entailment": NOT_ENTAILMENT}
RECAST_SHARE = 0.25
"""A pair of the recast tier (derived from other annotations by rule) is drawn so much more seldom."""
LONG = 80
LONG_SHARE = 0.5
"""So is a pair with more tokens than `LONG`: a run is paid by the token."""


Example = tuple[list[int], list[int], int]
"""Token ids of both texts without special ones, and the label."""


@dataclass(frozen=True)
class NliPairs:
    """Tokenised pairs. ``cumulative``: running sum of how often each is drawn, in relation to others."""

    examples: list[Example]
    cumulative: list[float]

    def draw(self, count: int, rng: random.Random) -> list[Example]:
        """So many pairs, with replacement."""
        return rng.choices(self.examples, cum_weights=self.cumulative, k=count)


def token_ids(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[str, list[int]]:
    """Token ids without special ones; each distinct text is tokenised once."""
    distinct = sorted(set(texts))
    encoded = tokenizer.encode_batch_fast(distinct, add_special_tokens=False)
    return {text: e.ids for text, e in zip(distinct, encoded, strict=True)}


def read(path: Path) -> dict[str, list[str]]:
    """premise, hypothesis, label, source and tier of the rows that may be trained on, as lists."""
    table = pq.read_table(path).filter(pc.field("may_ship"))
    return {name: table[name].to_pylist() for name in ("premise", "hypothesis", "label", "source", "tier")}


def pairs(rows: dict[str, list[str]], tokenizer: Tokenizer) -> NliPairs:
    """The rows of :func:`read`, tokenised."""
    ids = token_ids(tokenizer, [*rows["premise"], *rows["hypothesis"]])
    columns = (rows[name] for name in ("premise", "hypothesis", "label"))
    examples = [(ids[a], ids[b], LABEL_IDS[label]) for a, b, label in zip(*columns, strict=True)]
    recast = np.array([tier == "recast" for tier in rows["tier"]])
    is_long = np.array([len(a) + len(b) + 3 > LONG for a, b, _ in examples])
    shares = np.where(recast, RECAST_SHARE, 1.0) * np.where(is_long, LONG_SHARE, 1.0)
    return NliPairs(examples, np.cumsum(shares).tolist())
