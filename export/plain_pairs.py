"""Check that a checkpoint answers as its labels say, on simple pairs with obvious answers.

Labels are what tools differ in, and a checkpoint whose card or config names them in the wrong order gives a bundle that
looks sound and is worthless. So each class is compared with itself: its mean probability must be higher on pairs of its
own kind than on pairs of any other kind. A bias of the model towards one class does not matter then, and no order of
the labels but the right one passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.inference.bundle import LABELS, NLI, Scheme

from .parity import checkpoint_logits
from .probes import CONTRADICTORY, ENTAILED, NEUTRAL, Pair, Probe
from .tokenization import PairTokenizer

KINDS = (CONTRADICTORY, NEUTRAL, ENTAILED)
"""In the order of the labels."""


def mean_probabilities(
    model: Any, tokenizer: PairTokenizer, scheme: Scheme, pairs: Sequence[Pair]
) -> npt.NDArray[np.float64]:
    """Mean probability of each label on the pairs of each kind, by the checkpoint in PyTorch.

    float64, *Shape:* (kinds, labels): contradictory, neutral, entailed by contradiction, neutral, entailment; NaN where
    the scheme has no such label.
    """
    order = sorted(range(len(pairs)), key=lambda i: tokenizer.length(pairs[i].premise, pairs[i].hypothesis))
    probes = [
        Probe(pairs[i].premise, pairs[i].hypothesis, tokenizer.length(pairs[i].premise, pairs[i].hypothesis))
        for i in order
    ]
    probabilities = scheme.probabilities(checkpoint_logits(model, tokenizer, probes)).astype(np.float64)
    kinds = [pairs[i].meant for i in order]
    return np.stack([probabilities[[kind == one for one in kinds]].mean(axis=0) for kind in KINDS])


def contradicts_labels(means: npt.NDArray[np.float64], scheme: Scheme) -> str | None:
    """Reason why the labels cannot be right, in one line; ``None`` if nothing speaks against them.

    Args:
        means: of :func:`mean_probabilities`; float64, *Shape:* (kinds, labels).
    """
    columns: Sequence[int] = range(len(LABELS)) if scheme.kind == NLI else [LABELS.index("entailment")]
    for column in columns:
        highest = int(means[:, column].argmax())
        if highest != column:
            by_kind = zip(KINDS, means[:, column].tolist(), strict=True)
            found = ", ".join(f"{kind} {mean:.3f}" for kind, mean in by_kind)
            return (
                f"on plain pairs the mean P({LABELS[column]}) is highest for the kind {KINDS[highest]} ({found}): the "
                f"labels {', '.join(scheme.labels)} are in the wrong order, or the model was not trained for such "
                "pairs; look the order up and give it with --labels or --supported"
            )
    return None
