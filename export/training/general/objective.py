"""What the general model is trained for: its loss, its learning rate, its length."""

from __future__ import annotations

from functools import partial

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from export.training.general.batches import Pools
from export.training.general.nli import NOT_ENTAILMENT
from export.training.general.vocabulary import save
from export.training.network import NLI_LABELS
from export.training.train import Recipe

SMOOTHING = 0.02
WARM_UP = 0.05


def loss_of(logits: Tensor, label: Tensor) -> Tensor:
    """Mean over pairs of -log P(label), smoothed; of -log(1 - P(entailment)) where the label is *not entailment*.

    *Shape:* logits (n, 3), label (n,).
    """
    log_p = F.log_softmax(logits, -1)
    two_way = label == NOT_ENTAILMENT
    own = log_p.gather(1, torch.where(two_way, 0, label)[:, None])[:, 0]
    neither = torch.logsumexp(log_p[:, : NLI_LABELS.index("entailment")], -1)
    hit = torch.where(two_way, neither, own)
    return -((1 - SMOOTHING) * hit + SMOOTHING * log_p.mean(-1)).mean()


def rate_at(done: float) -> float:
    """Share of the top learning rate: a short rise, then a straight fall to nothing."""
    return min(1.0, done / WARM_UP + 0.02) * max(0.0, 1 - max(0.0, done - WARM_UP) / (1 - WARM_UP))


def recipe(pools: Pools, tokenizer: Tokenizer, tokens: int, rate: float) -> Recipe:
    """A run over so many tokens, padding included. ``rate``: the top learning rate."""
    return Recipe(
        batches=pools.batches,
        loss=loss_of,
        rate=lambda place: rate * rate_at(place.tokens / tokens),
        ended=lambda place: place.tokens >= tokens,
        save_tokenizer=partial(save, tokenizer),
    )
