"""``scorer evaluate``: a scored Parquet with gold columns, and the figures of the papers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import guarded, local, print_json, say


class Against(StrEnum):
    """What the figures can be put beside."""

    paper = "paper"


@guarded
def evaluate_command(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", parser=local, help="Output folder of `scorer run`, or one scored file.")
    ],
    gold_fine: Annotated[
        str | None, typer.Option("--gold-fine", metavar="NAME", help="Column of FINE gold. Default: gold_fine.")
    ] = None,
    gold_rough: Annotated[
        str | None, typer.Option("--gold-rough", metavar="NAME", help="Column of ROUGH gold. Default: gold_rough.")
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option("--human", metavar="NAME", help="Column of human scores; repeatable. Default: all known ones."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="X", help="Gold is OK where the first human score is at least X."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Column to correlate with human scores; min:NAME or mean:NAME of lists, neg:NAME of an error rate. "
            "Repeatable, the first is tested against the others. Default: confidence.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="NAME", help="Group by this column too, beside triples and system; repeatable."),
    ] = None,
    system: Annotated[str, typer.Option("--system-column", metavar="NAME", help="Column of systems.")] = "system",
    exclude_system: Annotated[
        list[str] | None, typer.Option("--exclude-system", metavar="NAME", help="Leave a system out; repeatable.")
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(
            "--annotations",
            metavar="FILE",
            parser=local,
            help="One row a text and annotator: gives the ceiling. With "
            "--spans, one row a span and annotator: gives their agreement.",
        ),
    ] = None,
    spans: Annotated[
        Path | None,
        typer.Option(
            "--spans",
            metavar="GOLD",
            parser=local,
            help="Error spans that people found (Parquet or CSV): what OUT's sentences, or OUT itself as a Parquet or "
            "CSV of flagged spans, find of them. Instead of labels.",
        ),
    ] = None,
    text_id: Annotated[
        str, typer.Option("--text-id", metavar="NAME", help="With --spans: column that names the text, in both files.")
    ] = "text_id",
    flag_below: Annotated[
        float,
        typer.Option(
            "--flag-below",
            min=0.0,
            max=1.0,
            metavar="X",
            help="With --spans: a sentence with a smaller P(entailment) is flagged.",
        ),
    ] = 0.5,
    against: Annotated[Against | None, typer.Option("--against", help="Put the published tables beside.")] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, metavar="N", help="Bootstrap samples of inputs; 0 for no intervals.")
    ] = 1000,
    input_column: Annotated[
        str | None,
        typer.Option("--input-column", metavar="NAME", help="Rows alike here have the same input. Default: the facts."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="P", help="The run's --prefix. Default: what its plan says.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Scores against gold labels and human scores: the figures of the papers, with n and 95 % intervals.

    not_OK is the positive class; each side, omission and hallucination, also stands alone. Rows with an error count as
    not_OK. Correlations need the extra `stats`.
    """
    if spans is not None:
        about_labels = {
            "--gold-fine": gold_fine,
            "--gold-rough": gold_rough,
            "--human": human,
            "--threshold": threshold,
            "--metric": metric,
            "--by": by,
            "--exclude-system": exclude_system,
            "--against": against,
            "--input-column": input_column,
        }
        if given := [name for name, value in about_labels.items() if value is not None]:
            raise UsageError(f"--spans evaluates places and not labels, so {given[0]} says nothing there; leave it out")
        _spans(out, spans, text_id, system, prefix, flag_below, annotations, resamples, as_json)
        return
    from ..evaluation.report import EvaluateOptions, evaluate
    from .show.evaluation import print_report

    options = EvaluateOptions(
        gold_fine=gold_fine,
        gold_rough=gold_rough,
        human=tuple(human or ()),
        threshold=threshold,
        metrics=tuple(metric or ("confidence",)),
        by=tuple(by or ()),
        system=system,
        exclude_systems=tuple(exclude_system or ()),
        inputs=input_column,
        prefix=prefix,
        annotations=annotations,
        against=against.value if against else None,
        resamples=resamples,
    )
    report = evaluate(out, options, lambda message: say(f"note: {message}"))
    if as_json:
        print_json(report)
    else:
        print_report(report)


def _spans(
    out: Path, gold: Path, text_id: str, system: str, prefix: str | None, below: float, annotations: Path | None,
    resamples: int, as_json: bool,
) -> None:  # fmt: skip
    """The other evaluation: places instead of labels."""
    from ..evaluation.spans import SpanOptions, evaluate_spans
    from .show.spans import print_spans

    options = SpanOptions(gold, text_id, system, prefix, below, annotations, resamples)
    report = evaluate_spans(out, options, lambda message: say(f"note: {message}"))
    if as_json:
        print_json(report)
    else:
        print_spans(report)
