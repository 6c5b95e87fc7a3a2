"""Targets of the general model: its loss, its learning rate, its length."""

from __future__ import annotations

import time
from functools import partial

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it
from transformers import PreTrainedModel

from training.batches import TrainingBatch
from training.general.nli import NOT_ENTAILMENT, UNLABELLED, save_tokenizer
from training.general.pools import Pools
from training.network import NLI_LABELS, classify
from training.train import Recipe, RunState

SMOOTHING = 0.02
WARM_UP = 0.05
KEPT = 0.6
"""Weight of an earlier network's probabilities in the target, where it is right."""


def losses_of(logits: Tensor, label: Tensor) -> Tensor:
    """-log P(label), smoothed; -log(1 - P(entailment)) where the label is *not entailment*.

    *Shape:* logits (n, 3), label (n,) → (n,).
    """
    log_p = F.log_softmax(logits, -1)
    two_way = label == NOT_ENTAILMENT
    own = log_p.gather(1, torch.where(label >= NOT_ENTAILMENT, 0, label)[:, None])[:, 0]
    neither = torch.logsumexp(log_p[:, : NLI_LABELS.index("entailment")], -1)
    hit = torch.where(two_way, neither, own)
    return -((1 - SMOOTHING) * hit + SMOOTHING * log_p.mean(-1))


class Loss:
    """The mean of :func:`losses_of`. Where an earlier network is given and is right, its probabilities are a part of
    the target, so that what it knew is kept while pairs that it got wrong are learned (Li & Hoiem, ECCV 2016,
    "Learning without Forgetting", section 3); they are the whole target of pairs without a label (Hinton et al., 2015,
    section 2)."""

    def __init__(self, earlier: PreTrainedModel | None) -> None:
        self._earlier = earlier

    def __call__(self, logits: Tensor, batch: TrainingBatch) -> Tensor:
        """*Shape:* logits (n, 3) → ()."""
        losses = losses_of(logits, batch.label)
        if self._earlier is not None:
            # It moves to the device at its first use: the makers of pools are forked before one is in use.
            earlier = self._earlier.to(batch.ids.device)
            with torch.no_grad():
                earlier_p = classify(earlier, batch.ids, batch.segments).softmax(-1)
            entailed = NLI_LABELS.index("entailment")
            answer = earlier_p.argmax(-1)
            right = torch.where(batch.label == NOT_ENTAILMENT, answer != entailed, answer == batch.label)
            kept = -(earlier_p * F.log_softmax(logits, -1)).sum(-1)
            losses = torch.where(right, (1 - KEPT) * losses + KEPT * kept, losses)
            losses = torch.where(batch.label == UNLABELLED, kept, losses)
        return losses.mean()


def rate_at(done: float) -> float:
    """Share of the top learning rate: a short rise, then a straight fall to nothing."""
    return min(1.0, done / WARM_UP + 0.02) * max(0.0, 1 - max(0.0, done - WARM_UP) / (1 - WARM_UP))


def recipe(pools: Pools, tokenizer: Tokenizer, tokens: int, rate: float, loss: Loss, seconds: float) -> Recipe:
    """A run over so many tokens, padding included, or of so many seconds. ``rate``: the top learning rate."""
    began = time.monotonic()

    def done(place: RunState) -> float:
        return max(place.tokens / tokens, (time.monotonic() - began) / seconds)

    return Recipe(
        batches=pools.batches,
        loss=loss,
        rate=lambda place: rate * rate_at(done(place)),
        ended=lambda place: done(place) >= 1,
        save_tokenizer=partial(save_tokenizer, tokenizer),
    )
