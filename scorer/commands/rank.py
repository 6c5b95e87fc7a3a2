"""``scorer rank``: choose the best of several texts for each input."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..metric.choices import Worse
from ..scoring.settings import Settings
from .common import InputsArgument, note_of, say, with_documents
from .settings import takes_settings
from .sharded import Job, OutOption, RunJsonOption, run_here, takes_run_options


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

    if note := note_of(settings):
        say(f"note: {note}")
    options = RunOptions(tuple(inputs), out, **asked)
    with_documents(settings, lambda chosen: run_here(Job(options, chosen, (worse, candidates)), as_json=as_json))
