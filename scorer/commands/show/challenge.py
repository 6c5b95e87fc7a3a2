"""The tables of a challenge: by kind of change, and what must hold between texts."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...evaluation.challenge.result import ChallengeResult
from ...stats.intervals import Rate
from ...system.display import visible
from .evaluation import wide_console
from .figures import INTERVAL, MISSING, interval, number, share, table


def print_challenge(result: ChallengeResult, console: Console | None = None) -> None:
    """Print the result. ``console``: by default a wide one on stdout."""
    console = console or wide_console()
    say = console.print
    say(f"{visible(result.metric)}: {result.rows:,} texts, {result.per_kind:,} pairs of each kind, seed {result.seed}")
    say(f"signature: {visible(result.signature)}")
    if result.left_out:
        say(f"note: {result.left_out:,} pairs are left out, because this metric cannot judge their facts")
    if result.errors:
        say(f"note: {result.errors:,} texts have errors and count as flagged")
    say("\nChanged texts that are wrong: flagged (for one side: that side flagged); the same texts unchanged: passed")
    say(_kinds(result, wrong=True))
    say("\nChanged texts that are still correct: passed")
    say(_kinds(result, wrong=False))
    say(
        f"\nsensitivity {share(result.sensitivity.value)} ({_interval(result.sensitivity)}), "
        f"specificity {share(result.specificity.value)} ({_interval(result.specificity)}), "
        f"balanced accuracy over kinds {number(result.score)} ({interval((result.low, result.high))})"
    )
    say("\nBy domain (sensitivity: wrong texts flagged; specificity: correct texts, changed or not, passed)")
    say(_domains(result))
    if result.checks:
        say("\nWhat must hold between texts")
        say(_checks(result))
    if result.natural:
        say("\nPublic sentence pairs (entailed: passed; others: flagged; intervals over premises)")
        say(_natural(result))


def _kinds(result: ChallengeResult, wrong: bool) -> Table:
    head = ("flagged", INTERVAL, "unchanged passed", INTERVAL, "both right", "n")
    made = table("kind", "expected", "change", *(head if wrong else ("passed", *head[1:])), left=3)
    for kind in result.kinds:
        if (kind.expected != "OK") == wrong:
            made.add_row(kind.kind, kind.expected, kind.about, share(kind.right.value), _interval(kind.right),
                         share(kind.base.value), _interval(kind.base), share(kind.pairs.value),
                         f"{kind.right.n:,}")  # fmt: skip
    return made


def _domains(result: ChallengeResult) -> Table:
    made = table("domain", "sensitivity", INTERVAL, "specificity", INTERVAL, "pairs")
    for one in result.domains:
        made.add_row(one.domain, share(one.sensitivity.value), _interval(one.sensitivity),
                     share(one.specificity.value), _interval(one.specificity),
                     f"{one.pairs:,}")  # fmt: skip
    return made


def _checks(result: ChallengeResult) -> Table:
    made = table("", "broken", INTERVAL, "largest change", "n")
    for check in result.checks:
        made.add_row(check.name, share(check.broken.value), _interval(check.broken), number(check.largest),
                     f"{check.broken.n:,}")  # fmt: skip
    return made


def _natural(result: ChallengeResult) -> Table:
    made = table("set", "passed", INTERVAL, "flagged", INTERVAL, "balanced accuracy", INTERVAL, "AUC", INTERVAL,
                 "right one higher", "both pass", "n")  # fmt: skip
    for one in result.natural:
        contrasts = [share(each.value) if each else MISSING for each in (one.right_higher, one.both_pass)]
        made.add_row(one.name, share(one.passed.value), _interval(one.passed),
                     share(one.flagged.value), _interval(one.flagged),
                     number(one.balanced_accuracy.value), interval(one.balanced_accuracy.interval),
                     number(one.auc.value), interval(one.auc.interval), *contrasts, f"{one.pairs:,}")  # fmt: skip
    return made


def _interval(one: Rate) -> str:
    return interval((one.low, one.high), share)
