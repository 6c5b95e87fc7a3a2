"""The metric again, one row at a time, as a reader of the paper would write it: the yardstick for the columnar code.

And what tests need for sentences: words for tokens, full stops for ends of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scorer.metric import Options
from scorer.metric.checks import KIND_NAMES, Checks, build_checks
from scorer.metric.columns import OUTPUT, to_columns
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import FactTable, Rows, Triple
from scorer.metric.verdict import decide
from scorer.status import SCORED

TRIPLE = tuple[str, str, str]


@dataclass
class Expected:
    """The verdict that one row should have."""

    fine: str | None
    confidence: float | None
    omitted: list[int] | None
    error: str | None
    note: str | None


def backoff(triple: TRIPLE) -> str:
    subject, predicate, value = triple
    if len(value) > 1 and value[0] in "\"'" and value[-1] in "\"'":
        value = value[1:-1]
    predicate = re.sub("([a-z])([A-Z])", r"\1 \2", predicate)
    return f"The {predicate} of {subject} is {value}.".replace("_", " ")


def pairs_of(triples: list[TRIPLE], text: str, protocol: str) -> list[tuple[str, str, str]]:
    """(kind, premise, hypothesis) of every check of a row."""
    facts = [backoff(t) for t in triples]
    pairs = [("omission", text, fact) for fact in facts]
    pairs.append(("hallucination", " ".join(facts), text))
    if protocol == "nlgi_eval":
        pairs.append(("all_facts", text, " ".join(facts)))
    return pairs


def judge(
    triples: list[TRIPLE] | None,
    text: str | None,
    answers: dict[tuple[str, str], tuple[float, float, float]],
    protocol: str,
) -> Expected:
    """The verdict of a row, from the answers to its pairs."""
    if text is None:
        return Expected(None, None, None, "null_text", None)
    if not triples:
        return Expected(None, None, None, "no_triples", None)
    if not any(character.isalnum() for character in text):
        return Expected("omission", 0.0, list(range(len(triples))), None, "empty_text")
    asked = [(kind, answers[premise, hypothesis]) for kind, premise, hypothesis in pairs_of(triples, text, protocol)]
    passed = [(kind, e > c and e > n) for kind, (c, n, e) in asked]
    omitted = [i for i, (kind, ok) in enumerate(passed) if kind == "omission" and not ok]
    omission = any(not ok for kind, ok in passed if kind != "hallucination")
    hallucination = any(not ok for kind, ok in passed if kind == "hallucination")
    fine = "+".join(name for name, on in (("omission", omission), ("hallucination", hallucination)) if on) or "OK"
    return Expected(fine, min(e for _, (_, _, e) in asked), omitted, None, None)


def triples_of(table: FactTable) -> list[list[Triple]]:
    """The triples of each row; rows with an error are empty."""
    bounds = zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    return [[table.distinct[i] for i in table.ids[start:end].tolist()] for start, end in bounds]


def count(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A tokenizer whose tokens are words."""
    return np.array([len(text.split()) for text in texts], np.int64)


def split(text: str) -> list[tuple[int, int]]:
    """Sentences that end with a full stop."""
    return [match.span() for match in re.finditer(r"[^\s.][^.]*\.?", text)]


def asked(checks: Checks) -> list[tuple[int, str, str, str]]:
    """(row, kind, premise, hypothesis) of every check."""
    return [
        (int(row), KIND_NAMES[kind], checks.texts[p], checks.texts[h])
        for row, kind, p, h in zip(checks.row, checks.kind, checks.premise, checks.hypothesis, strict=True)
    ]


def verdicts(
    rows: Rows,
    probabilities: Sequence[tuple[float, float, float]],
    options: Options | None = None,
    status: list[int] | None = None,
) -> list[dict[str, object]]:
    """The columns of each row, from the answers to its checks."""
    options = options or Options()
    checks = build_checks(rows, Templates(), options)
    array = np.array(probabilities, np.float32).reshape(-1, 3)
    codes = np.array(status or [SCORED] * len(checks.row), np.int8)
    decided = decide(
        rows,
        checks,
        array,
        codes,
        omission_side=options.sides != "hallucination",
        mean=options.protocol == "factspotter",
    )
    table = pa.table(to_columns(rows, decided), schema=OUTPUT)
    table.validate(full=True)
    return table.to_pylist()
