"""``scorer challenge``: pairs of a right text and one with a single change, by kind of change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..inference.choices import Precision
from .common import bundle_argument, present, say, say_always, say_once
from .settings import DeviceOption, PrecisionOption

if TYPE_CHECKING:
    from ..evaluation.challenge import ChallengeResult

_STEP = 2000


def challenge_command(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Bundle to test, or the word embedded.")],
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", min=0, max=1, metavar="X", help="Exit 1 if the balanced accuracy is below X."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Test a bundle on pairs of texts that differ in one thing.

    One text of a pair is correct; the other has one change, which is an error (an omitted fact, a number off by one) or
    not (a paraphrase, another order). Report by kind of change how many errors are found and how many correct texts
    pass.
    """
    from .console.challenge import print_challenge

    result = _judge(bundle, device, precision)
    present(result, as_json, print_challenge)
    if fail_under is not None and result.score < fail_under:
        say_always(f"scorer: the balanced accuracy {result.score:.3f} is below {fail_under:g} (--fail-under)")
        raise typer.Exit(1)


def _judge(name: str, device: str, precision: Precision) -> ChallengeResult:
    from ..evaluation.challenge import judge, measure, read_challenge, read_templates
    from ..inference.bundle import Bundle
    from ..scoring.scorer import Scorer

    bundle = bundle_argument(name, "BUNDLE")
    shown = 0

    def progress(done: int, rows: int) -> None:
        nonlocal shown
        if done - shown >= _STEP or done == rows:
            shown = done
            say(f"{done:,} of {rows:,} texts")

    one_text = Bundle.load(bundle).layout.one_text
    facts: dict[str, Any] = {"protocol": "factspotter"} if one_text else {"templates": read_templates()}
    table = read_challenge()
    with Scorer(bundle, **facts, device=device, precision=precision, log=say_once) as scorer:
        found, rows = judge(scorer, table, progress)
        return measure(table, found, metric=name, signature=scorer.signature, rows=rows)
