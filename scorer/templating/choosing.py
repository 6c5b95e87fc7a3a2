"""Choose one candidate per predicate: randomly, as the paper (section 4), or the one that the model scores best."""

from __future__ import annotations

import random
from collections.abc import Callable

from .document import CandidateLine, TemplateContent
from .extract import Candidate, Key

Choice = Callable[[Key, list[Candidate]], Candidate]


def at_random(seed: int) -> Choice:
    """Any distinct candidate with equal probability, as in the paper. The draw depends only on the seed and the
    predicate's name, so that more data about other predicates does not change it."""
    return lambda key, candidates: random.Random(f"{seed}|{key[0]}|{key[1]}").choice(candidates)


def best_score(key: Key, candidates: list[Candidate]) -> Candidate:
    """The candidate with the highest score, the most frequent of equals; candidates without a score come last."""
    return max(candidates, key=lambda c: (-1.0 if c.score is None else c.score, c.count))


def template_file(candidates: dict[Key, list[Candidate]], choose: Choice) -> TemplateContent:
    """The content of a template file with the chosen templates: predicate → template, or → object → template."""
    by_predicate: dict[str, dict[str | None, str]] = {}
    for (predicate, value), found in sorted(candidates.items(), key=lambda item: item[0][0]):
        by_predicate.setdefault(predicate, {})[value] = choose((predicate, value), found).template
    content: TemplateContent = {"$version": 1}
    for name, chosen in by_predicate.items():
        # A predicate that has both names and yes or no as objects is treated as one with names.
        of_all = chosen.get(None)
        content[name] = {str(value): t for value, t in chosen.items()} if of_all is None else of_all
    return content


def candidates_file(candidates: dict[Key, list[Candidate]], chosen: TemplateContent) -> dict[str, list[CandidateLine]]:
    """All candidates with their counts, the most frequent first; the chosen ones are marked."""
    result: dict[str, list[CandidateLine]] = {}
    for (predicate, value), found in candidates.items():
        written = chosen[predicate]
        picked: object = None
        if isinstance(written, dict):
            picked = None if value is None else written.get(value)
        elif value is None:
            picked = written
        for candidate in sorted(found, key=lambda c: -c.count):
            line: CandidateLine = {"template": candidate.template, "count": candidate.count}
            if value is not None:
                line["object"] = value
            if candidate.score is not None:
                line["score"] = round(candidate.score, 6)
            if candidate.template == picked:
                line["chosen"] = True
            result.setdefault(predicate, []).append(line)
    return result
