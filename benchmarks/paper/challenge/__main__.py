"""``python -m benchmarks.paper.challenge``: generate the challenge set, or judge public sentence pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.paper.challenge.build import write
from benchmarks.paper.challenge.natural import Figure, NaturalResult, judge_natural
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate

app = typer.Typer(add_completion=False, help=__doc__)


@app.command("build")
def build_command(folder: Path) -> None:
    """Write challenge.parquet and challenge.json into FOLDER (scorer/embedded)."""
    write(folder)


@app.command("natural")
def natural_command(
    bundle: str, folder: Path, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Judge the public sets of FOLDER (PAWS, passives, relations, GAP) with BUNDLE."""
    with Scorer(bundle, checks="hallucination") as scorer:
        found = judge_natural(folder, scorer, lambda line: typer.echo(line, err=True))
    if as_json:
        typer.echo(msgspec.json.encode(found))
    else:
        Console(width=160).print(_table(found))


def _table(found: tuple[NaturalResult, ...]) -> Table:
    table = Table("set", "passed", "flagged", "balanced accuracy", "AUC", "right one higher", "both pass", "n")
    for one in found:
        figures = [_figure(each) for each in (one.balanced_accuracy, one.auc)]
        rates = [_rate(each) for each in (one.right_higher, one.both_pass)]
        table.add_row(one.name, _rate(one.passed), _rate(one.flagged), *figures, *rates, f"{one.pairs:,}")
    return table


def _rate(one: Rate | None) -> str:
    if one is None or one.value is None:
        return "–"
    return f"{100 * one.value:.1f} [{100 * (one.low or 0):.0f}, {100 * (one.high or 0):.0f}]"


def _figure(one: Figure) -> str:
    if one.value is None:
        return "–"
    return f"{one.value:.3f}" + (f" [{one.interval[0]:.3f}, {one.interval[1]:.3f}]" if one.interval else "")


if __name__ == "__main__":
    app()
