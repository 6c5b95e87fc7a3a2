"""``python -m benchmarks.quality``: options of a run against the default, on public data with gold labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.compute as pc
import typer

from benchmarks.quality.contradicted import by_fact, by_row
from benchmarks.quality.labels import Gold, accuracy, labels_of, omission_shares, score
from benchmarks.quality.sets import DOMAINS, chosen_sets, sample
from scorer.commands.console import WHOLE, make_console, number, say, signed, table, with_interval
from scorer.commands.ending import App, run_app
from scorer.stats.intervals import Rate
from scorer.stats.paired import PairedRate

app = App(add_completion=False, help="Options of a run against the default, on public data with gold labels.")
SetsArgument = Annotated[list[str] | None, typer.Argument(metavar="SET", help="Default: all that it is about.")]
DataOption = Annotated[Path, typer.Option("--data", help="Folder of the evaluation data.")]
RowsOption = Annotated[int, typer.Option("--rows", min=1, help="Rows of each set, by a hash of their ids.")]
BundleOption = Annotated[str, typer.Option("--bundle", metavar="B", help="Bundle folder, or `embedded`.")]
PrecisionOption = Annotated[str, typer.Option("--precision", help="Precision of the figures by fact.")]
DATA = Path("../shared/data")


@app.command("worst-sentence")
def worst_sentence_command(
    sets: SetsArgument = None, data: DataOption = DATA, rows: RowsOption = 300, bundle: BundleOption = "embedded"
) -> None:
    """Compare --sentences with the default. Rows that only --sentences can label are counted apart."""
    lines = table("set", "rows of", "rows", "not_OK", "right, default", "right, --sentences", "difference", left=2)
    for name, labelled in chosen_sets(sets or (), ("challenge", "e2e", "webnlg17", *DOMAINS)).items():
        whole = labelled.rows(data)
        drawn, options = sample(whole, rows), labelled.options(data)
        say(f"{name}: {len(drawn):,} of {len(whole):,} rows")
        gold = Gold.of(drawn)
        before = labels_of(score(drawn, bundle, say, **options))
        scored = score(drawn, bundle, say, sentences=True, **options)
        now, several = labels_of(scored), pc.list_value_length(scored["sentences"]).to_numpy() > 1
        both, new = (before >= 0) & (now >= 0), (before < 0) & (now >= 0)
        say(
            f"{name}: {several.sum():,} texts of several sentences; {(both & (before != now)).sum():,} labels change; "
            f"{(before < 0).sum():,} rows without a label by default, {(now < 0).sum():,} with "
            f"--sentences, which calls {(new & (now > 0)).sum():,} of {new.sum():,} rows that it alone labels not_OK"
        )
        parts = {
            "both": both,
            "both, gold not_OK": both & (gold.rough == 1),
            "both, gold OK": both & (gold.rough == 0),
            "--sentences alone": new,
        }
        for title, where in parts.items():
            share = number(float((gold.rough[where] == 1).mean())) if where.any() else "-"
            lines.add_row(name, title, f"{where.sum():,}", share, *_paired(accuracy(gold, now, before, where)))
    make_console(least_width=WHOLE).print(lines)


@app.command("one-side")
def one_side_command(
    sets: SetsArgument = None, data: DataOption = DATA, rows: RowsOption = 300, bundle: BundleOption = "embedded"
) -> None:
    """Compare --checks omission with both sides."""
    lines = table("set", "rows", "right, both sides", "right, omission alone", "difference")
    sides = table("set", "rows", "checks", "omission precision", "recall", "F1")
    for name, labelled in chosen_sets(sets or (), ("factspotter", "e2e", "webnlg17", "wikidata")).items():
        drawn, options = sample(labelled.rows(data), rows), labelled.options(data)
        gold = Gold.of(drawn)
        labels = {
            checks: labels_of(score(drawn, bundle, say, **options | {"checks": checks}))
            for checks in ("both", "omission")
        }
        paired = accuracy(gold, labels["omission"], labels["both"], np.ones(len(drawn), bool))
        lines.add_row(name, f"{len(drawn):,}", *_paired(paired))
        for checks, fine in labels.items() if gold.has_side.any() else ():
            shares = omission_shares(gold, fine).values()
            sides.add_row(name, f"{gold.has_side.sum():,}", checks, *map(_rate, shares))
    console = make_console(least_width=WHOLE)
    console.print(lines)
    console.print(sides)


@app.command("contradicted")
def contradicted_command(
    data: DataOption = DATA,
    rows: RowsOption = 1000,
    bundle: BundleOption = "embedded",
    precision: PrecisionOption = "auto",
) -> None:
    """Compare facts that are called contradicted with the gold of E2E, by fact (all rows) and by row (a sample)."""
    lines = table(
        "templates", "threshold", "wrong values", "called contradicted", "left out", "called contradicted", "AUC"
    )
    for facts in by_fact(data, bundle, say, precision=precision):
        for shares in facts.shares:
            of_kinds = (cell for rate in (shares.wrong, shares.left_out) for cell in (f"{rate.n:,}", _rate(rate)))
            area = with_interval(facts.auc, facts.interval)
            lines.add_row(facts.templates, number(shares.threshold), *of_kinds, area)
        say(f"templates of the {facts.templates}: {facts.passed:,} absent facts pass their check")
    console = make_console(least_width=WHOLE)
    console.print(lines)
    lines = table("rows", "kind", "rows by the gold", "precision", "recall", left=2)
    for name, figures in by_row(data, rows, bundle, say).items():
        for kind, of_kind in (figures or {}).items():
            shares = _rate(of_kind["precision"]), _rate(of_kind["recall"])
            lines.add_row(name, kind, f"{of_kind['rows']:,}", *shares)
    console.print(lines)


def _rate(rate: Rate) -> str:
    return with_interval(rate.value, (rate.low, rate.high))


def _paired(paired: PairedRate | None) -> tuple[str, str, str]:
    """Cells of a default, of the option, and of their difference."""
    if paired is None:
        return "-", "-", "-"
    difference = with_interval(paired.difference, (paired.low, paired.high), signed)
    return _rate(paired.second), _rate(paired.first), difference


if __name__ == "__main__":
    sys.exit(run_app(app, "python -m benchmarks.quality"))
