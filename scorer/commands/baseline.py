"""``scorer baseline``: score with other metrics of the literature, into the columns of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .common import bundle_argument, location, say
from .settings import DeviceOption, MrColumnOption, TextColumnOption, TriplesColumnOption
from .sharded import RunJsonOption, run_shards, takes_run_options

if TYPE_CHECKING:
    from ..evaluation.baselines.reference_judges import BertScoreJudge

ONE_FILE = (".parquet", ".pq")
"""Endings of --out that mean one file instead of a folder."""


class Rival(StrEnum):
    """Names of the baselines."""

    bertscore = "bertscore"
    e2e_slots = "e2e-slots"
    entities = "entities"
    keywords = "keywords"
    overlap = "overlap"


@takes_run_options(only=("limit", "prune", "rescore", "part", "max_error_rate"))
def baseline_command(
    rival: Annotated[
        Rival, typer.Argument(metavar="bertscore|e2e-slots|entities|keywords|overlap", help="Baseline to score with.")
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN...", help="Parquet files, folders, globs or URIs; exits 2 if there are none."),
    ],
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Option(
            "--out",
            metavar="OUT",
            parser=location,
            help="Folder or s3:// prefix, as for `run`; or F.parquet, one local file of all rows, replaced if it "
            "exists.",
        ),
    ],
    *,
    text_column: TextColumnOption = "text",
    triples_column: TriplesColumnOption = None,
    mr_column: MrColumnOption = None,
    as_gold: Annotated[
        bool,
        typer.Option(
            "--as-gold",
            help="e2e-slots: reproduce the two known errors of the E2E gold; exits 2 for other baselines.",
        ),
    ] = False,
    references_column: Annotated[
        str,
        typer.Option("--references-column", metavar="NAME", help="overlap, bertscore: column of lists of references."),
    ] = "references",
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="BUNDLE", help="bertscore: bundle of `export --task embeddings`."),
    ] = None,
    idf: Annotated[
        bool, typer.Option("--idf", help="bertscore: weight tokens by inverse document frequency over all references.")
    ] = False,
    device: DeviceOption = "auto",
    asked: dict[str, Any],
    as_json: RunJsonOption = False,
) -> None:
    """Score texts with a baseline metric.

    `scorer evaluate` reads OUT like the output of a run. e2e-slots matches patterns for the E2E slots; keywords looks
    for values or their synonyms, entities for subjects and objects, and neither finds hallucinations. overlap adds
    BLEU, chrF, TER, NIST, ROUGE-L, CIDEr and METEOR (words and stems), bertscore adds BERTScore. With the output of a
    run as IN and F.parquet as OUT, the last three add columns to its scores. --limit, --prune, --part and --json need a
    folder.
    """
    from ..evaluation.baselines.judges import EntitiesJudge, Judge, KeywordsJudge, SlotsJudge
    from ..evaluation.baselines.reference_counts import count_references
    from ..evaluation.baselines.reference_judges import OverlapJudge
    from ..evaluation.baselines.rows import BaselineScoring
    from ..evaluation.baselines.writing import write
    from ..metric.inputs import ColumnNames
    from ..run.options import RunOptions

    if as_gold and rival is not Rival.e2e_slots:
        raise UsageError("--as-gold applies to the baseline e2e-slots only; remove it for other baselines")
    if rival is not Rival.bertscore and (encoder is not None or idf or device != "auto"):
        raise UsageError(f"--encoder, --idf and --device apply to the baseline bertscore, not to {rival.value}")
    if not isinstance(out, Path) and out.name.endswith(ONE_FILE):
        raise UsageError(f"--out {out}: one file of all rows can only be local; name a prefix without {ONE_FILE[0]}")
    names = ColumnNames(text=text_column, triples=triples_column, mr=mr_column)
    judge: Judge
    with ExitStack() as opened:
        if rival is Rival.overlap:
            judge = OverlapJudge(text_column, references_column, count_references(inputs, references_column))
        elif rival is Rival.bertscore:
            judge = opened.enter_context(_bertscore(inputs, text_column, references_column, encoder, idf, device))
        elif rival is Rival.e2e_slots:
            judge = SlotsJudge(as_gold=as_gold)
        else:
            judge = KeywordsJudge() if rival is Rival.keywords else EntitiesJudge()
        if isinstance(out, Path) and (out.suffix in ONE_FILE or out.is_file()):
            given = {f"--{name}": asked[name] for name in ("limit", "prune", "rescore", "part")} | {"--json": as_json}
            if unusable := [option for option, value in given.items() if value]:
                raise UsageError(f"{unusable[0]} needs a folder as --out; {out} is one file of all rows")
            rows = write(inputs, out, judge, names)
            say(f"{out}: {rows:,} rows by {rival.value}")
            if isinstance(judge, OverlapJudge):
                told = judge.metric.totals
                say(f"all texts as one corpus, tokenised as by the E2E challenge: BLEU {told.bleu}, NIST {told.nist}")
            return
        options = RunOptions(tuple(inputs), out, **asked)
        run_shards(options, BaselineScoring(judge, names), as_json=as_json)


@contextmanager
def _bertscore(
    inputs: list[str], text: str, references: str, encoder: str | None, idf: bool, device: str
) -> Iterator[BertScoreJudge]:
    """BERTScore with an encoder that is open until the end of the block."""
    from ..evaluation.baselines.bertscore import BertScore, count_tokens
    from ..evaluation.baselines.reference_counts import DistinctLists
    from ..evaluation.baselines.reference_judges import BertScoreJudge
    from ..inference.encoder import Encoder, EncoderBundle

    if encoder is None:
        raise UsageError("bertscore needs --encoder BUNDLE; make one with `scorer export --task embeddings`")
    folder = bundle_argument(encoder, "--encoder")
    with Encoder(EncoderBundle.load(folder), device=device) as opened:
        weights = None
        if idf:
            distinct = DistinctLists(inputs, references)
            weights = count_tokens(distinct, distinct.digest, opened)
        yield BertScoreJudge(text, references, BertScore(opened, weights))
