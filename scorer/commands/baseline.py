"""``scorer baseline``: the rivals of the literature, with a run's output columns."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import MrColumnOption, TextColumnOption, TriplesColumnOption, guarded, local, say


class Rival(StrEnum):
    """The baselines."""

    e2e_slots = "e2e-slots"
    keywords = "keywords"
    overlap = "overlap"


@guarded
def baseline_command(
    rival: Annotated[Rival, typer.Argument(metavar="e2e-slots|keywords|overlap", help="Which baseline.")],
    inputs: Annotated[list[str], typer.Argument(metavar="IN...", help="Parquet files, folders, globs or URIs.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="F.parquet", parser=local, help="File to write; replaced if it is there.")
    ],
    text_column: TextColumnOption = "text",
    triples_column: TriplesColumnOption = "triples",
    mr_column: MrColumnOption = None,
    as_gold: Annotated[
        bool, typer.Option("--as-gold", help="e2e-slots: also make the two known misreadings of the E2E gold.")
    ] = False,
    references_column: Annotated[
        str, typer.Option("--references-column", metavar="NAME", help="Column of lists of references, for overlap.")
    ] = "references",
) -> None:
    """Judge texts as the metric's rivals do; `scorer evaluate` reads the file like that of a run.

    e2e-slots: pattern matcher for the E2E slots, with the slot error rate. keywords: values or synonyms in the text, no
    hallucinations. overlap: BLEU, chrF, TER against references as score columns; in the output of a run, beside ours.
    """
    from ..evaluation.baselines.writing import Judge, KeywordsJudge, OverlapJudge, SlotsJudge, write
    from ..metric.inputs import ColumnNames

    if as_gold and rival is not Rival.e2e_slots:
        raise UsageError("--as-gold is about the E2E slots; leave it out for other baselines")
    judge: Judge
    if rival is Rival.overlap:
        judge = OverlapJudge(text_column, references_column)
    else:
        judge = SlotsJudge(as_gold=as_gold) if rival is Rival.e2e_slots else KeywordsJudge()
    names = ColumnNames(text=text_column, triples=triples_column, mr=mr_column)
    rows = write(inputs, out, judge, names)
    say(f"{out}: {rows:,} rows by {rival.value}")
