"""Contradicted facts: those that a text omits and says wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.metric import Options
from scorer.metric.checks import OMISSION, build_checks
from scorer.metric.fact_templates import Templates
from scorer.metric.joining import join
from scorer.metric.verdict import decide
from scorer.scoring.tables import from_pairs
from scorer.status import NOT_FINITE, SCORED

FACTS = [("m", "p", "a"), ("m", "q", "b"), ("m", "r", "c")]
SAID, WRONG, UNCLEAR, MISSING = (0.05, 0.05, 0.9), (0.9, 0.05, 0.05), (0.8, 0.15, 0.05), (0.1, 0.8, 0.1)
Answer = tuple[float, float, float]


def contradicted(
    answers: list[Answer],
    threshold: float | None = 0.8,
    text: str | None = "text",
    sides: str = "both",
    sentences: tuple[str, ...] = (),
    statuses: dict[int, int] | None = None,
) -> list[int] | None:
    templates = Templates.from_dict({"$sentences": [*sentences]})
    rows = join(from_pairs([(FACTS, text)]), templates, frozenset())
    checks = build_checks(rows, templates, Options(sides=sides))  # type: ignore[arg-type]  # parametrised
    asked = [*answers, *[SAID] * len(checks.row)][: len(checks.row)]
    probabilities = np.array(asked, np.float32).reshape(-1, 3)
    status = np.full(len(asked), SCORED, np.int8)
    for check, reason in (statuses or {}).items():
        status[check] = reason
    both = sides == "both"
    columns = decide(rows, checks, probabilities, status, omission_side=both, contradiction=threshold).columns
    omitted, found = columns["omitted"][0].as_py(), columns["contradicted"][0].as_py()
    assert found is None or set(found) <= set(omitted)
    assert (checks.kind == OMISSION).any() is np.bool_(both and text == "text")
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answers", "more", "expected"),
    [
        ([SAID, WRONG, MISSING], {}, [1]),
        ([SAID, SAID, MISSING], {}, []),
        ([WRONG, UNCLEAR, UNCLEAR], {}, [0, 1, 2]),  # from the threshold on
        ([WRONG, UNCLEAR, MISSING], {"threshold": 0.81}, [0]),
        ([(0.3, 0.1, 0.6), (0.4, 0.2, 0.4), (0.3, 0.4, 0.3)], {"threshold": 0.3}, [1, 2]),  # only what fails
        ([WRONG, WRONG, WRONG], {"threshold": None}, None),  # a bundle without a threshold
        ([], {"sides": "hallucination"}, None),  # not checked
        ([], {"text": ""}, []),  # nothing is said, so nothing is said wrongly
        ([], {"text": "", "threshold": None}, None),
        ([], {"text": None}, None),  # an error row
        ([WRONG, WRONG, SAID], {"statuses": {1: NOT_FINITE}}, None),  # of unknown omissions
        ([WRONG, MISSING], {"sentences": ("<r> <p>",)}, [0, 2]),  # a sentence marks all its facts
        ([MISSING, WRONG], {"sentences": ("<r> <p>",)}, [1]),
    ],
)
def test_contradicted_facts_of_a_row(
    answers: list[Answer], more: dict[str, object], expected: list[int] | None
) -> None:
    assert contradicted(answers, **more) == expected  # type: ignore[arg-type]  # parametrised
