"""A verdict and an explained row on the console, from the objects that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...run.explain import Explanation
from ...scoring.results import CheckResult, Verdict
from ...system.display import all_visible
from .console import make_console
from .figures import MISSING, number, table

_NAMES = {"omission": "text → fact {}", "hallucination": "facts → text", "all_facts": "text → all facts",
          "sentence": "facts → sentence"}  # fmt: skip


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print the label with its confidence, the text, the facts with those that are omitted, and the probabilities of
    every check.

    ``console``: by default one on stdout.
    """
    console, verdict = console or make_console(), all_visible(verdict)
    if verdict.error:
        console.print(f"error: {verdict.error}")
    else:
        console.print(f"{verdict.fine} ({verdict.rough}), confidence {number(verdict.confidence, 4)}")
    if verdict.note:
        console.print(f"note: {verdict.note}")
    text = _text_of(verdict)
    if text is not None:
        console.print(f"text: {_shortened(text)}")
    for position, fact in enumerate(verdict.facts):
        mark = " (omitted)" if position in (verdict.omitted or ()) else ""
        console.print(f"fact {position}{mark}: {_shortened(fact)}")
    if verdict.checks:
        console.print(_table(verdict, text))


def print_explanation(found: Explanation) -> None:
    """Print a stored row: the recomputed verdict, the stored one, and how far the two differ."""
    console, found = make_console(), all_visible(found)
    console.print(f"{found.file}:{found.row}  key {found.key}")
    print_verdict(found.recomputed, console)
    if found.why is not None:
        console.print(f"the row {found.why}")
    stored = found.stored
    if stored.get("fine") is not None:
        console.print(f"stored: {stored['fine']}, confidence {number(stored['confidence'], 4)}")
    elif stored.get("error") is not None:
        console.print(f"stored: error {stored['error']}")
    if found.difference is not None:
        bound = {True: "within the bound", False: "beyond the bound", None: "no bound is known"}[found.within_bound]
        allowed = f" of {found.allowed:.2g}" if found.allowed is not None else ""
        console.print(f"largest difference of an entailment probability: {found.difference:.2g}, {bound}{allowed}")


def _text_of(verdict: Verdict) -> str | None:
    """The text of the row, as its checks have it; ``None`` if nothing was asked of it as a whole."""
    texts = (check.premise if check.check == "omission" else check.hypothesis for check in verdict.checks
             if check.check in ("omission", "hallucination"))  # fmt: skip
    return next(texts, None)


def _table(verdict: Verdict, text: str | None) -> Table:
    """The checks; what was asked has a column only where the lines above do not say it."""
    asked = [_asked(check, verdict, text) for check in verdict.checks]
    more = ("asked",) if any(asked) else ()
    made = table("check", "C", "N", "E", "result", "tokens", *more, names=("result", *more))
    for check, words in zip(verdict.checks, asked, strict=True):
        probabilities = (number(value, 4) for value in (check.contradiction, check.neutral, check.entailment))
        result = "not checked" if check.passed is None else "passes" if check.passed else "fails"
        tokens = MISSING if check.tokens is None else f"{check.tokens:,}"
        name = _NAMES[check.check].format(check.fact)
        made.add_row(name, *probabilities, result, tokens, *([_shortened(words)] if more else []))
    return made


def _asked(check: CheckResult, verdict: Verdict, text: str | None) -> str:
    """What the name of a check does not say: a sentence, a part of the facts, a fact in other words."""
    joined = " ".join(verdict.facts)
    facts = {"omission": "" if check.fact is None else verdict.facts[check.fact], "all_facts": joined}
    premise, hypothesis = check.premise, check.hypothesis
    usual = (text, facts[check.check]) if check.check in facts else (joined, text)
    if (premise, hypothesis) == usual:
        return ""
    return hypothesis if premise == usual[0] else premise if hypothesis == usual[1] else f"{premise} → {hypothesis}"


def _shortened(text: str) -> str:
    """A text that fits on a screen; the JSON has the whole text."""
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text) - 500} characters) … {text[-100:]}"
