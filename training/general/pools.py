"""Pairs → token ids, and their pools of batches. A pool is a pure function of the seed and its number.

Some pairs have no label: their words are exchanged for words near them, for a teacher to judge (after Jiao et al.,
TinyBERT, Findings of EMNLP 2020, section 3.2), with nearness taken from the network's word table.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it
from transformers import PreTrainedModel

from training.batches import EncodedText, TrainingBatch, batched
from training.general import edits
from training.general.bindings import Bindings
from training.general.nli import CLS, NOT_ENTAILMENT, PAD, SEP, SPECIAL, UNLABELLED, Example, NliPairs, token_ids
from training.general.pairs import ENTAILMENT, pairs
from training.general.rows import Corpus
from training.network import logits

BATCH_TOKENS = 1536
"""Of one worker; a step is one batch of each."""
REVERSED = 0.1
"""Of the pairs read, the share that is also judged the other way round, where there is a teacher to judge it."""
LONGEST_PAIR = 160
"""Tokens; longer pairs are left out of training."""


@dataclass(frozen=True)
class Mix:
    """Pairs of a pool by kind: ``nli``, from the NLI data; ``field``, recast from other sets; ``d2t``, made from facts
    and texts; ``made``, of :mod:`.edits`; ``bound``, of :mod:`.bindings`; ``own``, of :mod:`.own`."""

    nli: int = 700
    field: int = 400
    d2t: int = 1200
    made: int = 400
    bound: int = 3200
    own: int = 1200


NEAR = 12
UNCHANGED, ALIKE = 0.5, 0.25
"""Shares of pairs that stay as they are, and in which a word is exchanged wherever it stands, on both sides."""
LEAST, MOST = 0.02, 0.3
"""Shares of a pair's words that are exchanged."""


def near_pieces(words: Tensor, pieces: list[str]) -> npt.NDArray[np.int64]:
    """The nearest pieces of each by cosine, among those of its kind: numbers, words, ends of words. Special tokens and
    signs have none but themselves. *Shape:* (pieces, NEAR)."""
    kinds = np.array([_kind(piece) for piece in pieces])
    near = np.repeat(np.arange(len(pieces))[:, None], NEAR, 1)
    unit = F.normalize(words.detach().float(), dim=1)
    for kind in range(1, 4):
        of_kind = torch.from_numpy(np.flatnonzero(kinds == kind))
        if len(of_kind) <= NEAR:
            continue
        for some in of_kind.split(1024):
            likeness = unit[some] @ unit[of_kind].T
            likeness[some[:, None] == of_kind] = -1.0
            near[some.numpy()] = of_kind[likeness.topk(NEAR).indices].numpy()
    return near


def _kind(piece: str) -> int:
    plain = piece.removeprefix("##")
    if piece in SPECIAL or not plain.isalnum():
        return 0
    return 1 if plain.isdigit() else 2 if plain == piece else 3


class Replacer:
    """Exchanges words in batches. ``near``: of :func:`near_pieces`."""

    def __init__(self, near: npt.NDArray[np.int64]) -> None:
        self._near = near

    def __call__(self, batch: TrainingBatch, seed: int) -> TrainingBatch:
        """The batch with about half of its pairs changed; those have no label any more."""
        rng = np.random.default_rng(seed)
        ids = batch.ids.numpy()
        n, length = ids.shape
        sort = rng.random((n, 1))
        # A random number for each token: the same one for the same word of a pair, or one for each place.
        table = rng.random((n, 4096), dtype=np.float32)
        at = np.where(sort < UNCHANGED + ALIKE, ids * 40503 % 4096, np.arange(length))
        number = np.take_along_axis(table, at, 1)
        rate = rng.uniform(LEAST, MOST, (n, 1)) * (sort >= UNCHANGED)
        which = (number * 65536).astype(np.int64) % NEAR
        changed = np.where(number < rate, self._near[ids, which], ids)
        label = np.where((changed != ids).any(1), UNLABELLED, batch.label.numpy())
        return replace(batch, ids=torch.from_numpy(changed), label=torch.from_numpy(label))


class Pools:
    """All training data of a run, dealt out in numbered pools. ``read``: tokenised pairs, and how many a pool has.
    ``tokens``: of a batch. ``replacer``: makes pairs without a label, for a teacher."""

    def __init__(
        self,
        read: list[tuple[NliPairs, int]],
        corpus: Corpus,
        bindings: Bindings,
        tokenizer: Tokenizer,
        mix: Mix,
        seed: int,
        tokens: int = BATCH_TOKENS,
        replacer: Replacer | None = None,
    ) -> None:
        self._read, self._corpus, self._bindings = read, corpus, bindings
        self._tokenizer, self._mix, self._seed = tokenizer, mix, seed
        self._tokens, self._replacer = tokens, replacer

    def _made_examples(self, rng: random.Random) -> list[Example]:
        """Pairs from facts and texts, and pairs of :mod:`.edits` and :mod:`.bindings`."""
        pairs_made = [(p.premise, p.hypothesis, p.label) for p in pairs(self._corpus, self._mix.d2t, rng)]
        for premise, hypothesis, entailed in edits.pairs(self._mix.made, rng) + self._bindings.pairs(
            self._mix.bound, rng
        ):
            pairs_made.append((premise, hypothesis, ENTAILMENT if entailed else NOT_ENTAILMENT))
        ids = token_ids(
            self._tokenizer, (text for premise, hypothesis, _ in pairs_made for text in (premise, hypothesis))
        )
        return [(ids[premise], ids[hypothesis], label) for premise, hypothesis, label in pairs_made]

    def batches(self, number: int) -> list[TrainingBatch]:
        """Pool `number`: sorted by length, cut at the token budget, shuffled."""
        rng = random.Random(f"{self._seed}/{number}")
        examples = [example for pairs_read, size in self._read for example in pairs_read.draw(size, rng)]
        if self._replacer is not None:
            examples += [(b, a, UNLABELLED) for a, b, _ in examples if rng.random() < REVERSED]
        examples += self._made_examples(rng)
        rows = [(*_joined(a, b), label) for a, b, label in examples]
        kept = [row for row in rows if len(row[0]) <= LONGEST_PAIR]
        batches = batched(kept, lambda length: self._tokens // length, PAD, rng)
        if self._replacer is None:
            return batches
        return [self._replacer(batch, rng.getrandbits(32)) for batch in batches]


def pair_logits(network: PreTrainedModel, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """*Shape:* (pairs, 3) float32. Pairs are cut at the longest length."""
    ids = token_ids(tokenizer, (text for pair in pairs for text in pair))
    return logits(network, [_joined(ids[a], ids[b]) for a, b in pairs])


def _joined(a: list[int], b: list[int]) -> EncodedText:
    return [CLS, *a, SEP, *b, SEP], len(a) + 2
