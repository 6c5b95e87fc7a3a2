"""Pairs → token ids, and their pools of batches. A pool is a pure function of the seed and its number."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer
from torch import Tensor

from training.batches import Batch, Row, batched
from training.general import edits
from training.general.bindings import Bindings
from training.general.nli import NOT_ENTAILMENT, UNLABELLED, Example, NliPairs, token_ids
from training.general.pairs import ENTAILMENT, pairs
from training.general.replaced import Replacer
from training.general.rows import Corpus
from training.general.vocabulary import CLS, PAD, SEP
from training.network import Network, logits

BATCH_TOKENS = 1536
"""Of one worker; a step is one batch of each."""
REVERSED = 0.1
"""Of the pairs read, the share that is also judged the other way round, where there is a teacher to judge it."""
LONGEST_PAIR = 160
"""Tokens; longer pairs are left out of training."""


@dataclass(frozen=True)
class Mix:
    """Pairs of a pool by kind: ``nli``, from the NLI data; ``field``, recast from other sets; ``d2t``, made from facts
    and texts; ``made``, of :mod:`.edits`; ``bound``, of :mod:`.bindings`."""

    nli: int = 700
    field: int = 400
    d2t: int = 1200
    made: int = 400
    bound: int = 3200


class Passes:
    """Tokenised pairs, each pass over them in an order of its own, dealt out in numbered slices."""

    def __init__(self, pairs: NliPairs, slice_size: int, seed: int) -> None:
        self._pairs, self._size, self._seed = pairs, slice_size, seed
        self._order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
        self._starts = [0]

    def _epoch(self, epoch: int) -> np.ndarray:
        if self._order[0] != epoch:
            self._order = (epoch, self._pairs.order(epoch, self._seed))
        return self._order[1]

    def examples(self, number: int) -> list[Example]:
        """The `number`-th slice of the passes laid end to end."""
        first, wanted, found = number * self._size, self._size, []
        while len(self._starts) < 2 or self._starts[-1] <= first + wanted:
            self._starts.append(self._starts[-1] + len(self._epoch(len(self._starts) - 1)))
        for epoch in range(len(self._starts) - 1):
            low = max(first, self._starts[epoch]) - self._starts[epoch]
            high = min(first + wanted, self._starts[epoch + 1]) - self._starts[epoch]
            if low < high:
                found += self._epoch(epoch)[low:high].tolist()
        return [self._pairs.examples[i] for i in found]


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
        self._passes = [Passes(pairs, size, seed) for pairs, size in read if size]
        self._corpus, self._bindings = corpus, bindings
        self._tokenizer, self._mix, self._seed = tokenizer, mix, seed
        self._tokens, self._replacer = tokens, replacer

    def _made_examples(self, rng: random.Random) -> list[Example]:
        """Pairs from facts and texts, and pairs of :mod:`.edits` and :mod:`.bindings`."""
        made = [(p.premise, p.hypothesis, p.label) for p in pairs(self._corpus, self._mix.d2t, rng)]
        for premise, hypothesis, entailed in edits.pairs(self._mix.made, rng) + self._bindings.pairs(
            self._mix.bound, rng
        ):
            made.append((premise, hypothesis, ENTAILMENT if entailed else NOT_ENTAILMENT))
        ids = token_ids(self._tokenizer, (text for premise, hypothesis, _ in made for text in (premise, hypothesis)))
        return [(ids[premise], ids[hypothesis], label) for premise, hypothesis, label in made]

    def batches(self, number: int) -> list[Batch]:
        """Pool `number`: sorted by length, cut at the token budget, shuffled."""
        rng = random.Random(f"{self._seed}/{number}")
        examples = [one for passes in self._passes for one in passes.examples(number)]
        if self._replacer is not None:
            examples += [(b, a, UNLABELLED) for a, b, _ in examples if rng.random() < REVERSED]
        examples += self._made_examples(rng)
        rows = [(*_joined(a, b), label) for a, b, label in examples]
        kept = [row for row in rows if len(row[0]) <= LONGEST_PAIR]
        made = batched(kept, lambda length: self._tokens // length, PAD, rng)
        return [self._replacer(batch, rng.getrandbits(32)) for batch in made] if self._replacer is not None else made


def pair_logits(network: Network, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """*Shape:* (pairs, 3) float32. Pairs are cut at the longest length."""
    ids = token_ids(tokenizer, (text for pair in pairs for text in pair))
    return logits(network, [_joined(ids[a], ids[b]) for a, b in pairs])


def _joined(a: list[int], b: list[int]) -> Row:
    return [CLS, *a, SEP, *b, SEP], len(a) + 2
