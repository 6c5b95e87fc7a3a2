"""A verdict and an explained row on the console, from the objects that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...run.explain import Explanation
from ...scoring.results import CheckResult, Verdict
from ...system.display import all_visible
from .console import make_console
from .figures import MISSING, number, table

_ASKED = {"omission": "text → fact {}", "hallucination": "facts → text", "all_facts": "text → all facts",
          "sentence": "facts → sentence"}  # fmt: skip


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print the label with its confidence, the omitted facts, and the probabilities of every check.

    ``console``: by default one on stdout.
    """
    console, verdict = console or make_console(), all_visible(verdict)
    if verdict.error:
        console.print(f"error: {verdict.error}")
    else:
        console.print(f"{verdict.fine} ({verdict.rough}), confidence {number(verdict.confidence, 4)}")
    if verdict.note:
        console.print(f"note: {verdict.note}")
    for position in verdict.omitted or ():
        console.print(f"omitted fact {position}: {verdict.facts[position]}")
    if verdict.checks:
        console.print(_table(verdict.checks))


def print_explanation(found: Explanation) -> None:
    """Print a stored row: its facts, the recomputed verdict, the stored one, and how far the two differ."""
    console, found = make_console(), all_visible(found)
    console.print(f"{found.file}:{found.row}  key {found.key}")
    for position, fact in enumerate(found.recomputed.facts):
        console.print(f"fact {position}: {fact}")
    print_verdict(found.recomputed, console)
    stored = found.stored
    if stored.get("fine") is not None:
        console.print(f"stored: {stored['fine']}, confidence {number(stored['confidence'], 4)}")
    elif stored.get("error") is not None:
        console.print(f"stored: error {stored['error']}")
    if found.difference is not None:
        bound = {True: "within the bound", False: "beyond the bound", None: "no bound is known"}[found.within_bound]
        allowed = f" of {found.allowed:.2g}" if found.allowed is not None else ""
        console.print(f"largest difference of an entailment probability: {found.difference:.2g}, {bound}{allowed}")


def _table(checks: list[CheckResult]) -> Table:
    made = table("check", "C", "N", "E", "result", "tokens", "asked", names=("result", "asked"))
    for check in checks:
        probabilities = (number(value, 4) for value in (check.contradiction, check.neutral, check.entailment))
        result = "not checked" if check.passed is None else "passes" if check.passed else "fails"
        asked = check.hypothesis if check.check == "omission" else f"{check.premise} → {check.hypothesis}"
        tokens = MISSING if check.tokens is None else f"{check.tokens:,}"
        made.add_row(_ASKED[check.check].format(check.fact), *probabilities, result, tokens, _shortened(asked))
    return made


def _shortened(text: str) -> str:
    """A text that fits on a screen; the JSON has the whole text."""
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text) - 500} characters) … {text[-100:]}"
