"""``scorer challenge``: pairs of a right text and one with a single change, by kind of change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..system.arguments import option
from .console import WHOLE, number, print_result, say, say_once, share, table, with_interval
from .options import JSON, DeviceOptions, bundle_argument

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..evaluation.challenge_set import ChallengeResult
    from ..stats.intervals import Rate

_STEP = 2048


def challenge_command(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Bundle to test, or the word embedded.")],
    device: DeviceOptions,
    fail_under: float | None = option("Exit 1 if the balanced accuracy is below X.", "X", None, min=0, max=1),
    as_json: bool = JSON,
) -> None:
    """Test a bundle on pairs of texts that differ in one thing.

    One text of a pair is correct; the other has one change, which is an error (an omitted fact, a number off by one) or
    not (a paraphrase, another order). Report by kind of change how many errors are found and how many correct texts
    pass.
    """
    result = _judge(bundle, device)
    print_result(result, as_json, print_challenge, least_width=WHOLE)
    if fail_under is not None and result.score < fail_under:
        say(f"scorer: the balanced accuracy {result.score:.3f} is below {fail_under:g} (--fail-under)", always=True)
        raise typer.Exit(1)


def _judge(name: str, device: DeviceOptions) -> ChallengeResult:
    from dataclasses import replace

    from ..evaluation.challenge_set import judge, measure, read_challenge, read_templates
    from ..inference.bundle import Bundle
    from ..scoring.scorer import Scorer

    def progress(done: int, rows: int) -> None:
        if done % _STEP == 0 or done == rows:
            say(f"{done:,} of {rows:,} texts")

    bundle = bundle_argument(name, "BUNDLE")
    opened = Bundle.load(bundle)
    facts: dict[str, Any] = {"protocol": "factspotter"} if opened.layout.one_text else {"templates": read_templates()}
    table = read_challenge()
    with Scorer(bundle, **facts, **vars(device), log=say_once) as scorer:
        answers, rows = judge(scorer, table, progress)
        result = measure(table, answers, metric=name, signature=scorer.signature, rows=rows)
    return replace(result, contradiction=opened.contradiction)


def print_challenge(console: Console, result: ChallengeResult) -> None:
    """Print the tables of changes by kind, and the requirements between texts."""
    show = console.print
    show(f"{result.metric}: {result.rows:,} texts, {result.pairs:,} pairs, revision {result.revision}")
    show(f"signature: {result.signature}")
    if result.errors:
        show(f"note: {result.errors:,} texts have errors and count as flagged")
    show("\nChanged texts that are wrong: flagged (for one side: that side flagged); the same texts unchanged: passed")
    show(_kinds(result, wrong=True))
    show("\nChanged texts that are still correct: passed")
    show(_kinds(result, wrong=False))
    show(
        f"\nsensitivity {_shown(result.sensitivity)}, specificity {_shown(result.specificity)}, "
        f"balanced accuracy over kinds {with_interval(result.score, (result.low, result.high))}"
    )
    show("95% intervals; p: that the change makes no difference to how often a text is flagged, corrected (Holm)")
    if (measured := result.contradiction) is not None:
        show(
            f"\nOmitted facts count as contradicted from P(contradiction) {measured.threshold:g} on: "
            f"{share(measured.wrong_value_rate)} of wrong values, {share(measured.left_out_rate)} of facts left out "
            "(measured by export on the kinds wrong value and omission; on other data the shares differ)"
        )
    if result.checks:
        show("\nWhat must hold between texts")
        requirements = table("", "broken", "largest change", "n")
        for check in result.checks:
            requirements.add_row(check.name, _shown(check.broken), number(check.largest), f"{check.broken.n:,}")
        show(requirements)


def _kinds(result: ChallengeResult, wrong: bool) -> Table:
    counted = "flagged" if wrong else "passed"
    by_kind = table("kind", "expected", "change", counted, "unchanged passed", "both right", "p", "n", left=3)
    for kind in result.kinds:
        if (kind.expected != "OK") == wrong:
            by_kind.add_row(kind.kind, kind.expected, kind.about, _shown(kind.right), _shown(kind.base),
                         _shown(kind.pairs), number(kind.p), f"{kind.right.n:,}")  # fmt: skip
    return by_kind


def _shown(rate: Rate) -> str:
    return with_interval(rate.value, (rate.low, rate.high), share)
