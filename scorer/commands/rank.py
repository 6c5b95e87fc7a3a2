"""``scorer rank``: choose the best of several texts for each input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..metric.choices import Worse
from ..scoring.settings import Settings
from .common import (
    DelimiterOption,
    FormatOption,
    InputsArgument,
    LimitOption,
    ReuseOption,
    guarded,
    location,
    note_of,
    open_scorer,
    say,
)
from .settings import takes_settings
from .sharded import (
    MAX_ERROR_RATE,
    MaxErrorRateOption,
    PartOption,
    PruneOption,
    RescoreOption,
    RunJsonOption,
    make_options,
    run_shards,
)

if TYPE_CHECKING:
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer


@guarded
@takes_settings(without=("text",))
def rank_command(
    inputs: InputsArgument,
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Option(
            "--out",
            metavar="OUT",
            parser=location,
            help="Folder or s3:// prefix for the ranked shards; a rerun resumes. Exits 2 if it holds other files.",
        ),
    ],
    settings: Settings,
    candidates: Annotated[
        str,
        typer.Option("--candidates-column", metavar="NAME", help="Column of lists of texts; a file without it fails."),
    ] = "candidates",
    worse: Annotated[
        Worse,
        typer.Option("--worse", help="Error that counts as worse; a text with both errors is ranked last."),
    ] = "hallucination",
    limit: LimitOption = None,
    form: FormatOption = "auto",
    delimiter: DelimiterOption = None,
    reuse: ReuseOption = None,
    prune: PruneOption = False,
    rescore: RescoreOption = False,
    part: PartOption = None,
    max_error_rate: MaxErrorRateOption = MAX_ERROR_RATE,
    as_json: RunJsonOption = False,
) -> None:
    """Choose the best of several texts for each input.

    Texts are ordered by FINE label (OK, then the milder error, then the worse one, then both), and within a label by
    confidence. OUT has the rows of the input, the position of the best text and the scores of all. Texts without a
    label are not ranked; a row without a labelled text is an error. The same command resumes. --reuse takes outputs of
    `scorer rank` and `scorer run`: their texts are not scored again for the same facts. Exit codes as for `run`.
    """
    from ..scoring.rank_rows import RankScoring

    if note := note_of(settings):
        say(f"note: {note}")

    def opener(budgets: Budgets) -> Scorer:
        return open_scorer(settings, budgets)

    options = make_options(
        inputs,
        out,
        limit=limit,
        part=part,
        prune=prune,
        max_error_rate=max_error_rate,
        reuse=reuse,
        form=form,
        delimiter=delimiter,
        rescore=rescore,
    )
    run_shards(options, RankScoring(settings, opener, worse, candidates), as_json=as_json)
