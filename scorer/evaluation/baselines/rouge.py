"""ROUGE-L (Lin, 2004) of a text against several references, as in the evaluation of MS COCO captions."""

from __future__ import annotations

from collections.abc import Sequence

_BETA = 1.2


def rouge_l(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """F-measure of the longest common subsequence, 0 to 1: the best precision and the best recall of any reference."""
    if not words:
        return 0.0
    common = [(longest_common(words, reference), len(reference)) for reference in references if reference]
    precision = max((length / len(words) for length, _ in common), default=0.0)
    recall = max((length / size for length, size in common), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + _BETA**2) * precision * recall / (recall + _BETA**2 * precision)


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    before = [0] * (len(second) + 1)
    for word in first:
        now = [0]
        for position, other in enumerate(second):
            now.append(before[position] + 1 if word == other else max(before[position + 1], now[position]))
        before = now
    return before[-1]
