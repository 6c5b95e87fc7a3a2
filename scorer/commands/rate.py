"""``scorer rate``: the true rates of an output, from a few human labels and the metric's label of every row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import ScoredArgument, local, print_json, say
from .files import written


def rate_command(
    out: ScoredArgument,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels",
            metavar="F.csv",
            parser=local,
            help="Completed file of `scorer sample`. Repeatable: a first sample and a later one.",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column", metavar="NAME", help="Column of OUT with labels or ratings, instead of --labels."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="X", help="With ratings: lowest rating that means OK."),
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
            help="File of an earlier `scorer rate --save`: used instead of labels, or tested against them.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", parser=written, help="Write the rates, for --calibration and audit."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rates as JSON.")] = False,
) -> None:
    """Estimate the true rates from a few human labels.

    A few human labels show how often the metric is wrong. Together with its labels of all rows they give the true rates
    with 95% intervals, the number of labels that the metric saved, and how many more would halve the interval. Rows
    labelled twice (F.second.csv) correct the rates for annotation errors. With --by, groups are compared (Holm).
    """
    from ..evaluation.rates.label_file import design_path
    from ..evaluation.rates.report import rate
    from ..scoring.rates_file import RatesFile
    from ..storage.objects.copy import local_copy
    from ..storage.user_files import check_user_file, write_user_file
    from ..system.codec import encode
    from .show.rates import print_rates

    if labels and label_column is not None:
        raise UsageError("--labels and --label-column are both given; use one of them")
    if not labels and label_column is None and calibration is None:
        raise UsageError(
            "no labels: pass --labels, --label-column or --calibration (`scorer sample` draws rows to label)"
        )
    if threshold is not None and label_column is None:
        raise UsageError("--threshold applies to --label-column; remove it")
    if by is not None and not labels and label_column is None:
        raise UsageError("--by needs labels of this output; a calibration covers all rows")
    if save is not None:  # next to each file of labels is its design, which is read too
        check_user_file(save, "--save", inputs=[design_path(file) for file in labels or ()])
    earlier = RatesFile.read(calibration, "--calibration") if calibration is not None else None
    with local_copy(out) as folder:
        report, found = rate(
            folder, str(out), labels or (), label_column, threshold, by, earlier, lambda text: say(f"note: {text}")
        )
    if save is not None:
        write_user_file(save, found.content, "--save")
    if as_json:
        print_json(json.loads(encode(report)))
    else:
        print_rates(report)
