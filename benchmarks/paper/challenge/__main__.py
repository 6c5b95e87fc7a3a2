"""``python -m benchmarks.paper.challenge``: generate the challenge set, or judge public sentence pairs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.paper.challenge.build import write
from benchmarks.paper.challenge.natural import judge_natural
from benchmarks.paper.challenge.texts import DOMAINS
from benchmarks.paper.rivals.labels import as_columns, by_keywords, by_slots, label_rows
from scorer.commands.challenge import print_challenge
from scorer.commands.console import WHOLE, interval, make_console, number
from scorer.commands.ending import App, run_app
from scorer.evaluation.challenge_set import answers_of, measure, read_challenge
from scorer.metric.facts import Triple
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate

app = App(add_completion=False, help=__doc__)


@app.command("build")
def build_command(folder: Path) -> None:
    """Write challenge.parquet and challenge.json into FOLDER (scorer/embedded)."""
    write(folder)


class LabellingRival(StrEnum):
    keywords = "keywords"
    e2e_slots = "e2e-slots"


@app.command("rival")
def rival_command(name: LabellingRival) -> None:
    """Judge the set with a rival; e2e-slots knows the pairs about one restaurant alone."""
    table = read_challenge()
    facts = [[Triple(**fact) for fact in row] for row in table["triples"].to_pylist()]
    judge = by_keywords
    if name is LabellingRival.e2e_slots:
        judge = by_slots
        (slots,) = ({one.predicate for one in d.attributes} for d in DOMAINS if d.name == "restaurant")
        known = [len({t.subject for t in row}) == 1 and {t.predicate for t in row} <= slots for row in facts]
        table, facts = table.filter(pa.array(known)), [row for row, fits in zip(facts, known, strict=True) if fits]
    texts = table["text"].to_pylist()
    columns = as_columns(name, label_rows(facts, texts, judge), facts, scored=False)
    rows = len({(tuple(triples), text) for triples, text in zip(facts, texts, strict=True)})
    result = measure(table, answers_of(columns, table), metric=name, signature=f"rival:{name}", rows=rows)
    print_challenge(make_console(least_width=WHOLE), result)


@app.command("natural")
def natural_command(
    bundle: str, folder: Path, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Judge the public sets of FOLDER (PAWS, passives, relations, GAP) with BUNDLE."""
    with Scorer(bundle, checks="hallucination") as scorer:
        found = tuple(judge_natural(folder, scorer, lambda line: typer.echo(line, err=True)))
    if as_json:
        typer.echo(msgspec.json.encode(found))
        return
    table = Table("set", "passed", "flagged", "AUC", "n")
    for one in found:
        auc = [number(one.auc), interval(one.interval)] if one.auc is not None else ["–"]
        table.add_row(one.name, _shown(one.passed), _shown(one.flagged), " ".join(auc), f"{one.pairs:,}")
    Console(width=160).print(table)


def _shown(one: Rate) -> str:
    if one.value is None:
        return "–"
    return f"{100 * one.value:.1f} [{100 * (one.low or 0):.0f}, {100 * (one.high or 0):.0f}]"


if __name__ == "__main__":
    sys.exit(run_app(app, "python -m benchmarks.paper.challenge"))
