"""``scorer baseline``: score with other metrics of the literature, into the columns of a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import guarded, local, say
from .settings import MrColumnOption, TextColumnOption, TriplesColumnOption


class Rival(StrEnum):
    """Names of the baselines."""

    e2e_slots = "e2e-slots"
    keywords = "keywords"
    overlap = "overlap"


@guarded
def baseline_command(
    rival: Annotated[Rival, typer.Argument(metavar="e2e-slots|keywords|overlap", help="Baseline to score with.")],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN...", help="Parquet files, folders, globs or URIs; exits 2 if there are none."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="F.parquet", parser=local, help="File to write; an existing file is replaced."),
    ],
    text_column: TextColumnOption = "text",
    triples_column: TriplesColumnOption = "triples",
    mr_column: MrColumnOption = None,
    as_gold: Annotated[
        bool,
        typer.Option(
            "--as-gold",
            help="e2e-slots: also reproduce the two known errors of the E2E gold; exits 2 for other baselines.",
        ),
    ] = False,
    references_column: Annotated[
        str, typer.Option("--references-column", metavar="NAME", help="overlap: column of lists of references.")
    ] = "references",
) -> None:
    """Score texts with a baseline metric.

    `scorer evaluate` reads the file like the output of a run. e2e-slots: match patterns for the E2E slots, and report
    the slot error rate. keywords: look for values or their synonyms in the text; finds no hallucinations. overlap: add
    BLEU, chrF and TER against references as columns; with the output of a run as IN, next to its scores.
    """
    from ..evaluation.baselines.writing import Judge, KeywordsJudge, OverlapJudge, SlotsJudge, write
    from ..metric.inputs import ColumnNames

    if as_gold and rival is not Rival.e2e_slots:
        raise UsageError("--as-gold applies to the baseline e2e-slots only; remove it for other baselines")
    judge: Judge
    if rival is Rival.overlap:
        judge = OverlapJudge(text_column, references_column)
    else:
        judge = SlotsJudge(as_gold=as_gold) if rival is Rival.e2e_slots else KeywordsJudge()
    names = ColumnNames(text=text_column, triples=triples_column, mr=mr_column)
    rows = write(inputs, out, judge, names)
    say(f"{out}: {rows:,} rows by {rival.value}")
