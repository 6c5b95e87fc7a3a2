"""The tables of a challenge: by kind of change, and what must hold between texts."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...evaluation.challenge import ChallengeResult
from ...stats.intervals import Rate
from ...system.display import visible
from .evaluation import wide_console
from .figures import MISSING, interval, number, share, table


def print_challenge(result: ChallengeResult, console: Console | None = None) -> None:
    """Print the result. ``console``: by default a wide one on stdout."""
    console = console or wide_console()
    say = console.print
    say(f"{visible(result.metric)}: {result.rows:,} texts, {result.pairs:,} pairs, revision {result.revision}")
    say(f"signature: {visible(result.signature)}")
    if result.errors:
        say(f"note: {result.errors:,} texts have errors and count as flagged")
    say("\nChanged texts that are wrong: flagged (for one side: that side flagged); the same texts unchanged: passed")
    say(_kinds(result, wrong=True))
    say("\nChanged texts that are still correct: passed")
    say(_kinds(result, wrong=False))
    say(
        f"\nsensitivity {_shown(result.sensitivity)}, specificity {_shown(result.specificity)}, "
        f"balanced accuracy over kinds {number(result.score)} ({interval((result.low, result.high))})"
    )
    say("95% intervals; p: that the change makes no difference to how often a text is flagged, corrected (Holm)")
    if result.checks:
        say("\nWhat must hold between texts")
        say(_checks(result))


def _kinds(result: ChallengeResult, wrong: bool) -> Table:
    said = "flagged" if wrong else "passed"
    made = table("kind", "expected", "change", said, "unchanged passed", "both right", "p", "n", left=3)
    for kind in result.kinds:
        if (kind.expected != "OK") == wrong:
            made.add_row(kind.kind, kind.expected, kind.about, _shown(kind.right), _shown(kind.base),
                         _shown(kind.pairs), number(kind.p), f"{kind.right.n:,}")  # fmt: skip
    return made


def _checks(result: ChallengeResult) -> Table:
    made = table("", "broken", "largest change", "n")
    for check in result.checks:
        made.add_row(check.name, _shown(check.broken), number(check.largest), f"{check.broken.n:,}")
    return made


def _shown(one: Rate | None) -> str:
    if one is None or one.value is None:
        return MISSING
    return f"{share(one.value)} ({interval((one.low, one.high), share)})"
