"""Probe pairs, on which a variant is compared with the checkpoint, at export and later on the device that runs it.

They span the lengths from the shortest pair to the longest, most of them short, because a large model on a CPU reads
about a hundred tokens a second: 512 pairs, some 10,000 tokens.

``probes.parquet`` has the sentences, written for this project, by kind:

- ``pool``: pairs from which probes are chosen by their length, equally many entailed, neutral and contradictory ones
- ``long``: premises that are joined to a pair of an exact length
- ``plain``, ``fact``: pairs with obvious labels, of texts and of a text with a triple
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .tokenization import PairTokenizer

FILE = Path(__file__).parent / "probes.parquet"
ENTAILED, NEUTRAL, CONTRADICTORY = "entailment", "neutral", "contradiction"

COUNT = 512
_LONG = 8
"""Probes longer than 40 tokens, in addition to the longest."""


class LabelledPair(NamedTuple):
    """A premise and a hypothesis with the label that they were written for."""

    premise: str
    hypothesis: str
    label: str


@cache
def pairs_of(kind: str) -> tuple[LabelledPair, ...]:
    """The pairs of a kind in ``probes.parquet``, in their order."""
    import pyarrow.parquet as pq

    rows = pq.read_table(FILE, filters=[("kind", "=", kind)]).to_pylist()
    return tuple(LabelledPair(row["premise"], row["hypothesis"], row["meant"]) for row in rows)


class Probe(NamedTuple):
    """A pair with its length in tokens, special tokens included."""

    premise: str
    hypothesis: str
    tokens: int


def built_in_probes(tokenizer: PairTokenizer, max_length: int) -> list[Probe]:
    """512 pairs of lengths from 5 tokens (where the layout has 4 of its own) to ``max_length``, sorted by length.

    The same for the same tokenizer and length. Models of one text also have the pairs of the kind ``fact``.
    """
    pool = _by_length(tokenizer, pairs_of("pool"), max_length)
    shortest = tokenizer.length("", "A")
    probes = [Probe("", "A", shortest), _exactly(tokenizer, max_length)]
    for target in _targets(min(pool), max_length, COUNT - len(probes)):
        length = min(pool, key=lambda n: (abs(n - target), n))
        probes.append(pool[length].popleft())
        if not pool[length]:
            del pool[length]
    if tokenizer.layout.one_text:  # such a model was trained on a text with a triple
        facts = {Probe(p, h, tokenizer.length(p, h)) for p, h, _ in pairs_of("fact")}
        probes = [*facts.union(probes)]
    return sorted(probes, key=lambda probe: (probe.tokens, probe.premise, probe.hypothesis))


def _targets(shortest: int, max_length: int, count: int) -> list[int]:
    """Lengths to aim at: a few spread geometrically up to the longest, the others up to 40, half below 16."""
    knee = min(40, max_length)
    top = max(max_length, knee + 1)
    long = [round(knee * (top / knee) ** ((i + 1) / (_LONG + 1))) for i in range(_LONG)]
    short_count = count - len(long)
    middle = min(16, knee)
    low = [shortest + (middle - shortest) * i // (short_count // 2) for i in range(short_count // 2)]
    high = [
        round(middle + (knee - middle) * (i / (short_count - short_count // 2)) ** 3)
        for i in range(short_count - short_count // 2)
    ]
    return low + high + long


def _by_length(tokenizer: PairTokenizer, pairs: Iterable[LabelledPair], max_length: int) -> dict[int, deque[Probe]]:
    pool: dict[int, deque[Probe]] = defaultdict(deque)
    for premise, hypothesis, _ in pairs:
        tokens = tokenizer.length(premise, hypothesis)
        if tokens <= max_length:
            pool[tokens].append(Probe(premise, hypothesis, tokens))
    return pool


def _exactly(tokenizer: PairTokenizer, tokens: int) -> Probe:
    """A pair of exactly that many tokens: sentences while they fit, then words of one token each."""
    premises = [pair.premise for pair in pairs_of("long")]
    hypothesis, text = "It is.", ""
    for premise in premises * (1 + tokens // len(premises)):
        if tokenizer.length(f"{text} {premise}".strip(), hypothesis) > tokens:
            break
        text = f"{text} {premise}".strip()
    while (length := tokenizer.length(text, hypothesis)) < tokens:
        longer = next(
            (t for w in (" a", "a", ".") if length < tokenizer.length(t := text + w, hypothesis) <= tokens), None
        )
        if longer is None:
            break  # a tokenizer that merges all of these: near enough
        text = longer
    return Probe(text, hypothesis, tokenizer.length(text, hypothesis))
