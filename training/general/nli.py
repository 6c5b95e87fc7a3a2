"""NLI pairs, tokenised once: two arrays of ids with offsets, and a label each.

Columns of the Parquet file: premise, hypothesis, label, source, tier, licence, may_ship. Weights that ship are
trained on rows with `may_ship` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

NOT_ENTAILMENT = 3
UNLABELLED = 4
"""A pair whose only target is what an earlier network says of it."""
LABEL_IDS = {"contradiction": 0, "neutral": 1, "entailment": 2, "not_entailment": NOT_ENTAILMENT}
RECAST_SHARE = 0.25
"""Of the recast tier (derived from other annotations by rule), this share is seen per pass."""
LONG = 80
LONG_SHARE = 0.5
"""Of pairs with more tokens than `LONG`, this share is seen per pass: a run is paid by the token."""


@dataclass(frozen=True)
class Texts:
    """*Shape:* ids (tokens,) uint16 or int32, offsets (texts + 1,) int64."""

    ids: npt.NDArray[np.integer]
    offsets: npt.NDArray[np.int64]

    def __getitem__(self, i: int) -> list[int]:
        found: list[int] = self.ids[self.offsets[i] : self.offsets[i + 1]].tolist()
        return found

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text, int64, *Shape:* (texts,)."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class NliPairs:
    """*Shape:* label (pairs,) int8; recast (pairs,) bool."""

    premise: Texts
    hypothesis: Texts
    label: npt.NDArray[np.int8]
    recast: npt.NDArray[np.bool_]

    def order(self, epoch: int, seed: int) -> npt.NDArray[np.int64]:
        """The pairs of one pass in random order: a pure function of seed and pass. int64, *Shape:* (pairs drawn,)."""
        rng = np.random.default_rng([seed, epoch])
        tokens = self.premise.lengths() + self.hypothesis.lengths() + 3
        share = np.where(self.recast, RECAST_SHARE, 1.0) * np.where(tokens > LONG, LONG_SHARE, 1.0)
        chosen = np.flatnonzero(rng.random(len(self.label)) < share)
        return rng.permutation(chosen)


def tokenise(tokenizer: Tokenizer, texts: list[str]) -> Texts:
    """All texts as ids, without special tokens."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    chunks = []
    for start in range(0, len(texts), 8192):
        encoded = tokenizer.encode_batch_fast(texts[start : start + 8192], add_special_tokens=False)
        for i, encoding in enumerate(encoded):
            ids = np.array(encoding.ids, np.int32)
            offsets[start + i + 1] = len(ids)
            chunks.append(ids)
    return Texts(np.concatenate(chunks) if chunks else np.zeros(0, np.int32), np.cumsum(offsets))


def read(path: Path) -> dict[str, list[str]]:
    """premise, hypothesis, label, source and tier of the rows that may be trained on, as lists."""
    table = pq.read_table(path).filter(pc.field("may_ship"))
    return {name: table[name].to_pylist() for name in ("premise", "hypothesis", "label", "source", "tier")}


def pairs(rows: dict[str, list[str]], tokenizer: Tokenizer) -> NliPairs:
    """The rows of :func:`read` as arrays."""
    return NliPairs(
        tokenise(tokenizer, rows["premise"]),
        tokenise(tokenizer, rows["hypothesis"]),
        np.array([LABEL_IDS[label] for label in rows["label"]], np.int8),
        np.array([tier == "recast" for tier in rows["tier"]], np.bool_),
    )
