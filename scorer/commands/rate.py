"""``scorer rate``: the true rates of an output, from a few human labels and the metric's label of every row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import PartialOption, ScoredArgument, local, present, say


def rate_command(
    out: ScoredArgument,
    labels: Annotated[
        list[Path],
        typer.Option(
            "--labels", metavar="F.csv", parser=local, help="Completed file of `scorer sample` for OUT. Repeatable."
        ),
    ],
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Column to group by, for example system.")
    ] = None,
    allow_partial: PartialOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rates as JSON.")] = False,
) -> None:
    """Estimate the true rates from a few human labels.

    A few human labels show how often the metric is wrong. Together with its labels of all rows they give the true rates
    with 95% intervals, often as narrow as those of many more random labels without the metric.
    """
    from ..evaluation.rates import rate
    from ..storage.local_copy import local_outputs
    from .console.rates import print_rates

    with local_outputs(out) as folders:
        name = " ".join(map(str, out))
        report = rate(folders, name, labels, by, lambda text: say(f"note: {text}"), allow_partial)
    present(report, as_json, print_rates)
