"""A verdict, for people: one small function a thing shown, all from the same data as the JSON."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...scoring.scorer import CheckResult, Verdict
from ...system.display import all_visible
from .console import make_console

_ASKED = {"omission": "text → fact {}", "hallucination": "facts → text", "all_facts": "text → all facts",
          "sentence": "facts → sentence"}  # fmt: skip


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """The facts in words with what became of each, C/N/E of every check, and the label with its confidence."""
    console, verdict = console or make_console(), all_visible(verdict)
    if verdict.error:
        console.print(f"error: {verdict.error}")
    else:
        console.print(f"{verdict.fine} ({verdict.rough}), confidence {verdict.confidence:.4f}")
    if verdict.note:
        console.print(f"note: {verdict.note}")
    if verdict.omitted:
        for position in verdict.omitted:
            console.print(f"omitted fact {position}: {verdict.facts[position]}")
    if verdict.checks:
        console.print(_table(verdict.checks))


def _table(checks: list[CheckResult]) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = (("check", "left"), ("C", "right"), ("N", "right"), ("E", "right"), ("", "left"), ("tokens", "right"))
    for header, side in (*columns, ("asked", "left")):
        table.add_column(header, justify=side, overflow="fold")  # type: ignore[arg-type]  # a str, not its literals
    for check in checks:
        numbers = (
            "-" if value is None else f"{value:.4f}" for value in (check.contradiction, check.neutral, check.entailment)
        )
        outcome = "not checked" if check.passed is None else "passes" if check.passed else "fails"
        asked = check.hypothesis if check.check == "omission" else f"{check.premise} → {check.hypothesis}"
        table.add_row(
            _ASKED[check.check].format(check.fact),
            *numbers,
            outcome,
            "-" if check.tokens is None else str(check.tokens),
            _shortened(asked),
        )
    return table


def _shortened(text: str) -> str:
    """A long text would push everything else off the screen; the JSON has it whole."""
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text) - 500} characters) … {text[-100:]}"
