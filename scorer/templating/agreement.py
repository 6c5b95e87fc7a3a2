"""The choice ``nli``: the candidate whose filled sentences agree best with other references, according to the model.

A candidate is filled with the triple of a reference that it was not taken from, and the model is asked in both
directions: does the filled sentence entail the reference, and does the reference entail the filled sentence? The score
is the mean of all these entailment probabilities. A template that says too much is not entailed by other references; a
template that says too little does not entail them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..metric.templates import Templates
from ..metric.triples import Triple
from ..metric.verdict import ENTAILMENT
from ..scoring.pipeline import Model
from ..status import SCORED
from .extract import Candidate, Extraction

REFERENCES = 16
"""Largest number of references that a candidate is compared with."""
_PAIRS = 32768


def score_candidates(extraction: Extraction, model: Model, *, references: int = REFERENCES, seed: int = 0) -> int:
    """Score every candidate; returns the number of pairs asked.

    The references of a predicate are shuffled once, by the seed. Each candidate is compared with the first
    ``references`` of them that it was not taken from, those of other triples than its own sources first. The score of a
    candidate without any stays ``None``. Pairs without a result (too long for the model) are left out of the mean.
    """
    asking = _all_pairs(extraction, references, seed)
    sums: dict[int, tuple[float, int]] = {}
    asked = 0
    while part := list(islice(asking, _PAIRS)):
        asked += len(part)
        for (candidate, _, _), entailment in zip(part, _entailment(part, model), strict=True):
            if entailment is not None:
                total, n = sums.get(id(candidate), (0.0, 0))
                sums[id(candidate)] = (total + entailment, n + 1)
    for candidates in extraction.candidates.values():
        for candidate in candidates:
            total, n = sums.get(id(candidate), (0.0, 0))
            candidate.score = total / n if n else None
    return asked


def _all_pairs(extraction: Extraction, references: int, seed: int) -> Iterator[tuple[Candidate, str, str]]:
    """Candidate, premise and hypothesis of every pair to ask."""
    for key, candidates in extraction.candidates.items():
        order = list(extraction.references[key])
        random.Random(f"{seed}|{key[0]}|{key[1]}").shuffle(order)
        for candidate in candidates:
            templates = Templates.from_dict({key[0]: candidate.template})
            for triple, text in _others(candidate, order, references):
                filled = templates.fill(triple).text
                yield candidate, filled, text
                yield candidate, text, filled


def _others(candidate: Candidate, order: list[tuple[Triple, str]], limit: int) -> list[tuple[Triple, str]]:
    """The references that a candidate is compared with."""
    sources = set(candidate.sources)
    triples = {triple for triple, _ in candidate.sources}
    strangers: list[tuple[Triple, str]] = []
    relatives: list[tuple[Triple, str]] = []
    for reference in order:
        if reference not in sources:
            (relatives if reference[0] in triples else strangers).append(reference)
            if len(strangers) == limit:
                break
    return [*strangers, *relatives][:limit]


def _entailment(part: list[tuple[Candidate, str, str]], model: Model) -> list[float | None]:
    """P(entailment) of each pair, ``None`` if the model gave no result; each distinct text is tokenised once."""
    texts = list(dict.fromkeys(text for _, premise, hypothesis in part for text in (premise, hypothesis)))
    place = {text: i for i, text in enumerate(texts)}
    premise = np.array([place[pair[1]] for pair in part], np.int32)
    hypothesis = np.array([place[pair[2]] for pair in part], np.int32)
    answers = model.run(model.prepare(texts, premise, hypothesis))
    scored = (answers.status == SCORED).tolist()
    values = answers.probabilities[:, ENTAILMENT].tolist()
    return [value if there else None for value, there in zip(values, scored, strict=True)]
