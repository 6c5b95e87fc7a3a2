"""``python -m benchmarks.paper.spans``: error spans of Quintd-1, D2T-Eval and the basketball texts."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow.parquet as pq
import typer
from rich.console import Console

from benchmarks.paper.spans import corpora
from benchmarks.paper.spans.figures import SpanOptions, evaluate_spans
from scorer.commands.console import INTERVAL, interval, number, table
from scorer.commands.ending import App, run_app

app = App(add_completion=False, help=__doc__)


class Corpus(StrEnum):
    """Names of the collections."""

    quintd = "quintd"
    d2t_eval = "d2t-eval"


def _say(line: str) -> None:
    typer.echo(f"note: {line}", err=True)


@app.command("convert")
def convert_command(
    corpus: Corpus,
    source: Annotated[Path, typer.Argument(metavar="IN", exists=True, help="Folder of the repository, or Parquet.")],
    out: Annotated[Path, typer.Option("--out", help="Rows for `scorer run`.")],
    spans: Annotated[Path, typer.Option("--spans", help="Spans that people marked.")],
    judge_spans: Annotated[Path, typer.Option("--judge-spans", help="Spans that models marked.")],
) -> None:
    """Convert a collection. Score its rows with --checks hallucination --sentences: the texts omit most facts on
    purpose."""
    collection = corpora.QUINTD if corpus is Corpus.quintd else corpora.D2T_EVAL
    for converted, path in zip(corpora.convert(collection, source, _say), (out, spans, judge_spans), strict=True):
        pq.write_table(converted, path)


@app.command("evaluate")
def evaluate_command(
    out: Annotated[Path, typer.Argument(exists=True, help="Output of a run with --sentences.")],
    gold: Annotated[Path, typer.Option("--spans", exists=True, help="Gold spans, by text_id.")],
    below: Annotated[float, typer.Option("--flag-below", help="Flag sentences with a smaller P(entailment).")] = 0.5,
    by: Annotated[list[str] | None, typer.Option("--by", help="Column of the gold to group by. Repeatable.")] = None,
    inputs: Annotated[str | None, typer.Option("--input-column", help="Column of the gold that names inputs.")] = None,
    rivals: Annotated[Path | None, typer.Option("--rivals", exists=True, help="Spans of other metrics.")] = None,
    annotations: Annotated[
        Path | None, typer.Option("--annotations", exists=True, help="Labels of each annotator, for the agreement.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", min=0, help="Bootstrap samples.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare flagged sentences with error spans."""
    options = SpanOptions(gold, below, annotations, resamples, tuple(by or ()), inputs, rivals)
    report = evaluate_spans(out, options, _say)
    if as_json:
        typer.echo(msgspec.json.encode(report))
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    console = Console(width=150)
    console.print(f"{report['texts']:,} texts; signature: {report['signature'] or 'no signature'}")
    made = table("category", "errors", "found", "recall", INTERVAL)
    for name, line in report["categories"].items():
        made.add_row(
            name, f"{line['errors']:,}", f"{line['found']:,}", number(line["recall"]), interval(line["interval"])
        )
    console.print(made)
    made = table("", "of", "flags", "right", "precision", INTERVAL, "recall", INTERVAL, "F1", INTERVAL, left=2)
    for line in report["lines"]:
        shares = ((number(line[of]), interval(line["interval"][of])) for of in ("precision", "recall", "f1"))
        counts = (f"{line[of]:,}" for of in ("flags", "right"))
        made.add_row(line["name"], line["level"], *counts, *(shown for pair in shares for shown in pair))
    console.print(made)
    if report["agreement"]:
        console.print_json(msgspec.json.encode(report["agreement"]).decode())


if __name__ == "__main__":
    sys.exit(run_app(app, "python -m benchmarks.paper.spans"))
