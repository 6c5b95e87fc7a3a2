"""``scorer challenge``: pairs of a right text and one with a single change, by kind of change."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..inference.choices import Precision
from .common import bundle_argument, local, print_json, say, say_always, say_once, tell
from .files import written_parquet
from .settings import DeviceOption, PrecisionOption

if TYPE_CHECKING:
    from ..evaluation.challenge.case import Case
    from ..evaluation.challenge.natural import NaturalResult
    from ..evaluation.challenge.result import ChallengeResult

_STEP = 2000


def challenge_command(
    metric: Annotated[
        str | None,
        typer.Argument(metavar="BUNDLE", help="A bundle, or the baseline keywords or e2e-slots."),
    ] = None,
    per_kind: Annotated[
        int, typer.Option("--per-kind", min=1, max=1000, metavar="N", help="Number of pairs of each kind.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the texts.")] = 1,
    natural: Annotated[
        Path | None,
        typer.Option(
            "--natural",
            metavar="DIR",
            parser=local,
            help="Also test a bundle on the public sets in this folder (PAWS, passives, relations, GAP).",
        ),
    ] = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", min=0, max=1, metavar="X", help="Exit 1 if the balanced accuracy is below X."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="F.parquet",
            parser=written_parquet,
            help="Write the texts as input for other tools; needs no BUNDLE.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Test a bundle on pairs of texts that differ in one thing.

    One text of a pair is correct; the other has one change, which is an error (an omitted fact, a number off by one) or
    not (a paraphrase, another order). Report by kind of change how many errors are found and how many correct texts
    pass.
    """
    from ..evaluation.challenge.build import build_cases

    if metric is None and write is None:
        raise UsageError("pass a BUNDLE or a baseline to test, or --write F.parquet for the texts")
    if metric is None and (fail_under is not None or as_json):
        raise UsageError("--fail-under and --json are about a result; pass a BUNDLE or a baseline to test")
    cases = build_cases(per_kind, seed)
    if write is not None:
        _write(cases, write)
    if metric is None:
        return
    result = _judge(metric, cases, natural, device, precision, seed, per_kind)
    if as_json:
        print_json(result, allow_nan=False)
    else:
        from .show.challenge import print_challenge

        print_challenge(result)
    if fail_under is not None and result.score < fail_under:
        say_always(f"scorer: the balanced accuracy {result.score:.3f} is below {fail_under:g} (--fail-under)")
        raise typer.Exit(1)


def _judge(
    name: str, cases: list[Case], natural: Path | None, device: str, precision: Precision, seed: int, per_kind: int
) -> ChallengeResult:
    from ..evaluation.challenge.build import templates
    from ..evaluation.challenge.judging import BASELINES, BaselineMetric, BundleMetric
    from ..evaluation.challenge.natural import judge_natural
    from ..evaluation.challenge.result import challenge
    from ..inference.bundle import Bundle
    from ..scoring.scorer import Scorer

    if natural is not None and name in BASELINES:
        raise UsageError(f"--natural has sentences for facts, which {name} cannot judge; pass a bundle")
    if name in BASELINES:
        if device != "auto" or precision != "auto":
            raise UsageError(f"--device and --precision apply to bundles, and {name} is a baseline; remove them")
        return challenge(cases, BaselineMetric(name), seed=seed, per_kind=per_kind)
    bundle = bundle_argument(name, "BUNDLE")
    one_text = Bundle.load(bundle).layout.one_text
    if natural is not None and one_text:
        raise UsageError(f"--natural has sentences for facts, and {name} accepts only triples; leave it out")
    shown = 0

    def progress(done: int, rows: int) -> None:
        nonlocal shown
        if done - shown >= _STEP or done == rows:
            shown = done
            say(f"{done:,} of {rows:,} texts")

    def opened(**settings: Any) -> Scorer:
        return Scorer(bundle, **settings, device=device, precision=precision, log=say_once)

    with ExitStack() as stack:
        # The public sets first, because a folder without them is found at once.
        judged: tuple[NaturalResult, ...] = ()
        if natural is not None:
            judged = judge_natural(natural, stack.enter_context(opened(checks="hallucination")), say)
        asked = {"protocol": "factspotter"} if one_text else {"templates": templates()}
        scorer = stack.enter_context(opened(**asked))
        found = challenge(cases, BundleMetric(name, scorer), seed=seed, per_kind=per_kind, progress=progress)
        return replace(found, natural=judged)


def _write(cases: list[Case], path: Path) -> None:
    import pyarrow.parquet as pq

    from ..evaluation.challenge.build import as_table
    from ..storage.user_files import staged

    table = as_table(cases)
    with staged(path, "--write") as place:
        pq.write_table(table, place)
    say(f"{path}: {len(table):,} texts, {len(cases):,} pairs")
    tell(str(path))
