"""A verdict on the console: each text and fact once, a table that fits a narrow terminal."""

from __future__ import annotations

import io

from rich.console import Console

from scorer.commands.show.verdict import print_verdict
from scorer.scoring.results import CheckResult, Verdict

TEXT = "Blue Spice is a pub by the river that serves breakfast on Sundays."
FACTS = ["Blue Spice is a pub.", "The area of Blue Spice is riverside.", "Blue Spice has a rating of 5 out of 5."]


def check(kind: str, premise: str, hypothesis: str, fact: int | None = None) -> CheckResult:
    return CheckResult(kind, fact, premise, hypothesis, 38, 0.1, 0.2, 0.7, True)


CHECKS = [
    *(check("omission", TEXT, fact, i) for i, fact in enumerate(FACTS)),
    check("hallucination", " ".join(FACTS), TEXT),
    check("all_facts", TEXT, " ".join(FACTS)),
]


def test_no_text_is_repeated_and_the_table_fits_a_narrow_terminal() -> None:
    file = io.StringIO()
    found = Verdict("omission", "not_OK", 0.01, [2], [0.7, 0.7, 0.01], 0.7, None, None, None, FACTS, CHECKS)
    print_verdict(found, Console(file=file, width=60, soft_wrap=True))
    said = file.getvalue()
    assert [said.count(text) for text in (TEXT, *FACTS)] == [1, 1, 1, 1]
    assert f"fact 2 (omitted): {FACTS[2]}\n" in said and f"fact 1: {FACTS[1]}\n" in said
    assert "asked" not in said
    table = said.partition("check ")[2].splitlines()
    assert len(table) == 1 + len(CHECKS)  # no line is broken
    assert max(map(len, table)) <= 60
