"""Probe pairs, on which a variant is compared with the checkpoint, at export and later on the device that runs it.

They span the lengths from the shortest pair to the longest, most of them short, because a large model on a CPU reads
about a hundred tokens a second: 512 pairs, some 10,000 tokens.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import NamedTuple

from .sentences import Pair, frame_pairs, short_pairs
from .tokenization import PairTokenizer

COUNT = 512
_LONG = 8
"""Probes longer than 40 tokens, in addition to the longest."""


class Probe(NamedTuple):
    """A pair with its length in tokens, special tokens included."""

    premise: str
    hypothesis: str
    tokens: int


def built_in_probes(tokenizer: PairTokenizer, max_length: int) -> list[Probe]:
    """512 pairs of lengths from 5 tokens (where the layout has 4 of its own) to ``max_length``, sorted by length.

    The same for the same tokenizer and length. Entailed, neutral and contradictory ones are equally frequent.
    """
    rng = random.Random(7)
    pool = _by_length(tokenizer, _candidates(rng), max_length)
    shortest = tokenizer.length("", "A")
    chosen = [Probe("", "A", shortest), _exactly(tokenizer, rng, max_length)]
    for target in _targets(min(pool), max_length, COUNT - len(chosen)):
        length = min(pool, key=lambda n: (abs(n - target), n))
        chosen.append(pool[length].popleft())
        if not pool[length]:
            del pool[length]
    return _sorted(chosen)


def measured(pairs: Iterable[Pair], tokenizer: PairTokenizer) -> list[Probe]:
    """Pairs as probes, sorted by length."""
    return _sorted(Probe(p, h, tokenizer.length(p, h)) for p, h, _ in pairs)


def merge(first: Iterable[Probe], second: Iterable[Probe]) -> list[Probe]:
    """Both lists without repetitions, sorted by length."""
    return _sorted({*first, *second})


def _sorted(probes: Iterable[Probe]) -> list[Probe]:
    return sorted(probes, key=lambda probe: (probe.tokens, probe.premise, probe.hypothesis))


def _targets(shortest: int, max_length: int, count: int) -> list[int]:
    """Lengths to aim at: a few spread geometrically up to the longest, the others up to 40, half below 16."""
    knee = min(40, max_length)
    top = max(max_length, knee + 1)
    long = [round(knee * (top / knee) ** ((i + 1) / (_LONG + 1))) for i in range(_LONG)]
    rest = count - len(long)
    middle = min(16, knee)
    low = [shortest + (middle - shortest) * i // (rest // 2) for i in range(rest // 2)]
    high = [round(middle + (knee - middle) * (i / (rest - rest // 2)) ** 3) for i in range(rest - rest // 2)]
    return low + high + long


def _candidates(rng: random.Random) -> list[Pair]:
    frames = list(frame_pairs())
    pairs = [pair for _, *three in frames for pair in three] + list(short_pairs())
    premises = [premise for premise, *_ in frames]
    for size in [2] * 90 + [3] * 60 + list(range(4, 34)) * 3:
        # Several facts against one hypothesis, and one text against several facts: both sides of a scored row.
        about = rng.choice(frames)
        others = rng.sample(premises, size - 1)
        pair = about[rng.randrange(1, 4)]
        assert isinstance(pair, Pair)
        texts = [*others, pair.premise]
        rng.shuffle(texts)
        pairs.append(Pair(" ".join(texts), pair.hypothesis, pair.meant))
        pairs.append(Pair(" ".join(texts), " ".join(rng.sample(texts, max(1, size // 2))), pair.meant))
    rng.shuffle(pairs)
    return pairs


def _by_length(tokenizer: PairTokenizer, pairs: Iterable[Pair], max_length: int) -> dict[int, deque[Probe]]:
    pool: dict[int, deque[Probe]] = defaultdict(deque)
    for premise, hypothesis in dict.fromkeys((pair.premise, pair.hypothesis) for pair in pairs):
        tokens = tokenizer.length(premise, hypothesis)
        if tokens <= max_length:
            pool[tokens].append(Probe(premise, hypothesis, tokens))
    return pool


def _exactly(tokenizer: PairTokenizer, rng: random.Random, tokens: int) -> Probe:
    """A pair of exactly that many tokens: sentences while they fit, then words of one token each."""
    premises = [premise for premise, *_ in frame_pairs()]
    rng.shuffle(premises)
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
