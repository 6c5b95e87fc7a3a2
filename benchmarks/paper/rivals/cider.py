"""CIDEr-D (Vedantam et al., CVPR 2015), as in the evaluation of MS COCO captions.

The weight of an n-gram falls with the number of inputs whose references have it, so that it needs the references of all
inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.paper.rivals.nist import Ngram, ngrams

ORDER = 4
_SIGMA = 6.0


@dataclass(frozen=True)
class Frequencies:
    """``inputs``: number of inputs. ``of_ngram``: in the references of how many of them each n-gram occurs."""

    inputs: int
    of_ngram: Mapping[Ngram, int]


@dataclass(frozen=True)
class Vectors:
    """A text as one vector for each n. ``weights``: tf-idf by n-gram. ``norms``: their lengths. ``size``: bigrams in
    the text."""

    weights: tuple[Mapping[Ngram, float], ...]
    norms: tuple[float, ...]
    size: int


def vectors(words: Sequence[str], frequencies: Frequencies) -> Vectors:
    """The vectors of a text."""
    log_inputs = math.log(frequencies.inputs) if frequencies.inputs else 0.0
    weights = tuple(
        {
            ngram: count * (log_inputs - math.log(max(1, frequencies.of_ngram.get(ngram, 0))))
            for ngram, count in ngrams(words, n).items()
        }
        for n in range(1, ORDER + 1)
    )
    norms = tuple(math.sqrt(sum(value**2 for value in weight.values())) for weight in weights)
    return Vectors(weights, norms, max(0, len(words) - 1))


def cider(text: Vectors, references: Sequence[Vectors]) -> float:
    """Mean similarity to the references times 10, about 0 to 10."""
    total = sum(_similarity(text, reference) for reference in references)
    return 10 * total / (ORDER * len(references)) if references else 0.0


def _similarity(text: Vectors, reference: Vectors) -> float:
    penalty = math.exp(-((text.size - reference.size) ** 2) / (2 * _SIGMA**2))
    found = 0.0
    for mine, theirs, norm, other in zip(text.weights, reference.weights, text.norms, reference.norms, strict=True):
        product = sum(min(value, theirs[ngram]) * theirs[ngram] for ngram, value in mine.items() if ngram in theirs)
        found += product / (norm * other) if norm and other else product
    return penalty * found
