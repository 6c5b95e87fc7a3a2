"""Choose one candidate per predicate. The paper chose randomly (section 4); there are two other simple ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ..errors import UsageError
from .extract import Candidate, Key

Choice = Callable[[Key, list[Candidate]], Candidate]


def choice(name: str, seed: int = 0) -> Choice:
    """A way to choose that needs no model.

    ``first``: the first in the data. ``frequent``: the one with the most references, the earlier one of equals.
    ``random``: any distinct candidate with equal probability; the draw depends only on the seed and the predicate's
    name, so that more data about other predicates does not change it.

    Raises:
        UsageError: the name is not one of these.
    """
    if name == "first":
        return lambda key, candidates: candidates[0]
    if name == "frequent":
        return lambda key, candidates: max(candidates, key=lambda candidate: candidate.count)
    if name == "random":
        return lambda key, candidates: random.Random(f"{seed}|{key[0]}|{key[1]}").choice(candidates)
    raise UsageError(f"unknown choice {name!r}; write first, random, frequent or nli")


def best_score(key: Key, candidates: list[Candidate]) -> Candidate:
    """The candidate with the highest score, the most frequent of equals; candidates without a score come last."""
    return max(candidates, key=lambda c: (-1.0 if c.score is None else c.score, c.count))


def template_file(candidates: dict[Key, list[Candidate]], choose: Choice) -> dict[str, Any]:
    """The content of a template file with the chosen templates: predicate → template, or → object → template."""
    by_predicate: dict[str, dict[str | None, str]] = {}
    for (predicate, value), found in sorted(candidates.items(), key=lambda item: item[0][0]):
        by_predicate.setdefault(predicate, {})[value] = choose((predicate, value), found).template
    # A predicate that has both names and yes or no as objects is treated as one with names.
    return {"$version": 1} | {name: chosen.get(None, chosen) for name, chosen in by_predicate.items()}


def candidates_file(candidates: dict[Key, list[Candidate]], chosen: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All candidates with their counts, the most frequent first; the chosen ones are marked."""
    result: dict[str, list[dict[str, Any]]] = {}
    for (predicate, value), found in candidates.items():
        picked = chosen[predicate]
        picked = picked.get(value) if isinstance(picked, dict) else picked if value is None else None
        for candidate in sorted(found, key=lambda c: -c.count):
            line: dict[str, Any] = {"template": candidate.template, "count": candidate.count}
            line |= {"object": value} if value is not None else {}
            line |= {"score": round(candidate.score, 6)} if candidate.score is not None else {}
            line |= {"chosen": True} if candidate.template == picked else {}
            result.setdefault(predicate, []).append(line)
    return result
