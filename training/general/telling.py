"""Facts as a text: sentences with names, pronouns, two clauses or a denial in them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from training.general.wording import sentence_case

Wording = str
"""A sentence with ``{s}`` and ``{o}``, or ``{a}`` and ``{b}``."""
Said = tuple[str, Wording, str]
"""Subject, wording and object of a fact."""
PRONOUNS = (("It", "Its"), ("He", "His"), ("She", "Her"))
# Beginnings of wordings that can be denied: forms of *to be* and modal verbs, *has*, and verbs in the present whose
# infinitive is known from the ending (*contains*, *makes*; not *goes* or *carries*).
_TO_BE = re.compile(r"((?:The [^{}]+ of \{s\}|\{s\}'s [^{}]+|\{s\}) (?:is|was|are|were|can|could|will|would)) (?=.)")
_HAS = re.compile(r"\{s\} (?:(has)|had) (?!be|\w+(?:ed|en|wn|on|ng) )(?=.)")
_PRESENT = re.compile(r"\{s\} ((?!ha|wa)[a-z]+[^sieo\W]|[a-z]+(?:ak|at|iv|iz|ar|as|id|uc|ud|in|ag)e)s (?=.)")


def fill(wording: Wording, subject: str, value: str) -> str:
    """The sentence with its names in place, in one pass, so that braces in a name stay characters."""
    return sentence_case(re.sub(r"\{[saob]\}", lambda mark: subject if mark[0] in ("{s}", "{a}") else value, wording))


def told(facts: Sequence[Said], rng: random.Random) -> str:
    """The sentences of the facts. Of two in a row that begin with one name, in most texts the second has a pronoun,
    and in some the two are one sentence."""
    pronouns = {name: rng.choice(PRONOUNS) for name, *_ in facts} if rng.random() < 0.7 else {}
    joins = rng.random() < 0.4
    sentences: list[str] = []
    topic, open_clause = None, False
    for name, wording, value in facts:
        begins, clause = wording.startswith("{s}"), wording.startswith("{s} ") and wording.endswith(".")
        if joins and open_clause and clause and name == topic:
            sentences[-1] = f"{sentences[-1][:-1]} and {fill(wording, '', value).lstrip()}"
            open_clause = False
            continue
        if name == topic and name in pronouns:
            wording = _referring(wording, *pronouns[name])
        sentences.append(fill(wording, name, value))
        topic, open_clause = name if begins or name == topic else None, clause
    return " ".join(sentences)


def denial(wording: Wording) -> Wording | None:
    """The wording that says the opposite, or None where none is known."""
    for pattern, opposite in (
        (_TO_BE, r"\1 not "), (_HAS, lambda m: f"{{s}} {'does' if m[1] else 'did'} not have "),
        (_PRESENT, r"{s} does not \1 "),
    ):  # fmt: skip
        if pattern.match(wording) and not re.search(r"\b(?:not|never|no|and|but|only|also)\b", wording):
            return pattern.sub(opposite, wording, count=1)
    return None


def _referring(wording: Wording, it: str, its: str) -> Wording:
    """The wording with a pronoun for a subject that begins it, or that has what begins it."""
    wording = re.sub(r"^The ([^{}]+) of \{s\} ", rf"{its} \1 ", wording)
    wording = re.sub(r"^\{s\}'s ", f"{its} ", wording)
    return re.sub(r"^\{s\} ", f"{it} ", wording)
