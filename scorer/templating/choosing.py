"""One candidate per predicate. ``choose randomly`` is what the paper did (section 4); these are its neighbours."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ..errors import UsageError
from .extract import Candidate, Key

Choice = Callable[[Key, list[Candidate]], Candidate]


def choice(name: str, seed: int = 0) -> Choice:
    """A way to choose that needs no model.

    ``first``: as the data has them. ``frequent``: from the most references, the earlier of equals. ``random``: each
    distinct candidate alike; a predicate's draw depends on the seed and on its own name alone, so that more data
    about other predicates does not move it.

    Raises:
        UsageError: no such choice.
    """
    if name == "first":
        return lambda key, candidates: candidates[0]
    if name == "frequent":
        return lambda key, candidates: max(candidates, key=lambda candidate: candidate.count)
    if name == "random":
        return lambda key, candidates: random.Random(f"{seed}|{key[0]}|{key[1]}").choice(candidates)
    raise UsageError(f"choice {name!r} is not known; write first, random, frequent or nli")


def best_score(key: Key, candidates: list[Candidate]) -> Candidate:
    """The highest score, among equals the most frequent; candidates without a score come last."""
    return max(candidates, key=lambda c: (-1.0 if c.score is None else c.score, c.count))


def template_file(candidates: dict[Key, list[Candidate]], choose: Choice) -> dict[str, Any]:
    """The chosen templates as a template file has them: predicate → template, or → object → template."""
    by_predicate: dict[str, dict[str | None, str]] = {}
    for (predicate, value), found in sorted(candidates.items(), key=lambda item: item[0][0]):
        by_predicate.setdefault(predicate, {})[value] = choose((predicate, value), found).template
    # A predicate with names for objects here and yes or no there is of the first kind.
    return {"$version": 1} | {name: chosen.get(None, chosen) for name, chosen in by_predicate.items()}


def candidates_file(candidates: dict[Key, list[Candidate]], chosen: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Every candidate with its count, the chosen ones marked, the most frequent first."""
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
