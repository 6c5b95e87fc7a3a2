"""``scorer rate``: the true rates of an output, from a few human labels and the metric's label of every row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from .common import guarded, local, location, print_json, say


@guarded
def rate_command(
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Argument(
            metavar="OUT", parser=location, help="Output of `scorer run`, local or in a store, or one scored file."
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="F.csv", parser=local, help="Labels: the file of `scorer sample`, filled in."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option("--label-column", metavar="NAME", help="Labels: column of OUT with labels, or with ratings."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="X", help="With ratings: a row is OK from this rating on."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Column to group by, for example system.")
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            parser=local,
            help="File of an earlier `scorer rate --save`, used instead of labels; with labels, tested against them.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", parser=local, help="Write the rates, for --calibration and audit."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rates as JSON.")] = False,
) -> None:
    """Estimate the true rates from a few human labels.

    The metric labels every row and is sometimes wrong; a few human labels show how often. Both together give the true
    not_OK, omission and hallucination rates with 95% intervals, the number of labels that the metric saved, and how
    many more would halve the interval.
    """
    from ..evaluation.rates import calibration as earlier_run
    from ..evaluation.rates.estimates import true_rates
    from ..evaluation.rates.given import from_column, from_file
    from ..evaluation.rates.population import read_population
    from ..evaluation.rates.result import RateReport
    from ..scoring.rates_file import RatesFile
    from ..storage.objects.copy import local_copy
    from ..storage.user_files import check_user_file, write_user_file
    from .show.rates import print_rates

    if labels is not None and label_column is not None:
        raise UsageError("--labels and --label-column are both given; use one of them")
    if labels is None and label_column is None and calibration is None:
        raise UsageError(
            "no labels: pass --labels, --label-column or --calibration (`scorer sample` draws rows to label)"
        )
    if threshold is not None and label_column is None:
        raise UsageError("--threshold applies to --label-column; remove it")
    if by is not None and labels is None and label_column is None:
        raise UsageError("--by needs labels of this output; a calibration is of all rows")
    if save is not None:
        check_user_file(save, "--save")
    with local_copy(out) as folder:
        population = read_population(folder, tuple(name for name in (by, label_column) if name), str(out))
    if not population.scored.finished:
        say(f"note: {out} has no _SUCCESS: the rates cover only the shards that are done")
    earlier = RatesFile.read(calibration, "--calibration") if calibration is not None else None
    labelled = None
    if labels is not None:
        labelled = from_file(population, labels)
        if labelled.skipped:
            say(f"note: {labelled.skipped:,} rows of the sample have no label; they count as missing at random")
    elif label_column is not None:
        labelled = from_column(population, label_column, threshold)
        say("note: the labelled rows are taken to be a simple random sample of all rows")
    if labelled is not None:
        rates = true_rates(population, labelled, by)
        holding = earlier_run.still_holds(rates, earlier) if earlier is not None else []
        report = RateReport(population, rates, [], by, holding, earlier)
        content = earlier_run.saved(population, rates, labelled, by)
    else:
        assert earlier is not None
        transferred = earlier_run.transfer(population, earlier)
        report = RateReport(population, [], transferred, None, [], earlier)
        content = earlier_run.saved_transfer(population, transferred)
    if save is not None:
        write_user_file(save, content.to_json(), "--save")
    if as_json:
        print_json(report.to_json(), allow_nan=False)
    else:
        print_rates(report)
