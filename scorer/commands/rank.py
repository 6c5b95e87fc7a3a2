"""``scorer rank``: choose the best of several texts for each input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..metric.choices import Worse
from ..scoring.settings import Settings
from .common import InputsArgument, note_of, open_scorer, say, with_documents
from .settings import takes_settings
from .sharded import OutOption, RunJsonOption, run_shards, takes_run_options

if TYPE_CHECKING:
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer


@takes_settings(without=("text",))
@takes_run_options(without=("split_rows", "reuse"))
def rank_command(
    inputs: InputsArgument,
    out: OutOption,
    settings: Settings,
    *,
    candidates: Annotated[
        str,
        typer.Option("--candidates-column", metavar="NAME", help="Column of lists of texts; a file without it fails."),
    ] = "candidates",
    worse: Annotated[
        Worse,
        typer.Option("--worse", help="The worse error; a text with both errors is ranked last."),
    ] = "hallucination",
    asked: dict[str, Any],
    as_json: RunJsonOption = False,
) -> None:
    """Choose the best of several texts for each input.

    Texts are ordered by FINE label (OK, the milder error, the worse one, both), then by confidence. OUT adds the
    position of the best text and the scores of all. Texts without a label are not ranked; a row without a labelled text
    is an error. Resumes and exits like `run`.
    """
    from ..run.options import RunOptions
    from ..scoring.rank_rows import RankScoring

    if note := note_of(settings):
        say(f"note: {note}")

    options = RunOptions(tuple(inputs), out, **asked)

    def score(settings: Settings) -> None:
        def opener(budgets: Budgets) -> Scorer:
            return open_scorer(settings, budgets)

        run_shards(options, RankScoring(settings, opener, worse, candidates), as_json=as_json)

    with_documents(settings, score)
