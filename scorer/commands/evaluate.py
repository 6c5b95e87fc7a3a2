"""``scorer evaluate``: compare scores with gold labels and human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import PartialOption, ScoredArgument, present, say
from .files import written_parquet

if TYPE_CHECKING:
    import pyarrow as pa

    from ..storage.location import Location


def evaluate_command(
    out: ScoredArgument,
    gold_fine: Annotated[
        str | None,
        typer.Option(
            "--gold-fine", metavar="NAME", help="Column of FINE gold labels. Default: gold_fine, if it exists."
        ),
    ] = None,
    gold_rough: Annotated[
        str | None,
        typer.Option(
            "--gold-rough", metavar="NAME", help="Column of ROUGH gold labels. Default: gold_rough, if it exists."
        ),
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option("--human", metavar="NAME", help="Column of human ratings. Repeatable. Default: all known ones."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="X",
            help="Use OK as the gold label where the first human rating is at least X; exits 2 without ratings.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Column to correlate with ratings: NAME, min:NAME or mean:NAME of lists, neg:NAME of an error rate. "
            "Repeatable; the first is tested against the others. all: all known metrics. Default: confidence.",
        ),
    ] = None,
    trained: Annotated[
        list[str] | None,
        typer.Option(
            "--trained",
            metavar="NAME",
            help="Metric to mark as trained on this domain in --metric all. Repeatable.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="NAME",
            help="Further column to group by. Repeatable.",
        ),
    ] = None,
    system: Annotated[
        str, typer.Option("--system-column", metavar="NAME", help="Column that names the system.")
    ] = "system",
    exclude_system: Annotated[
        list[str] | None, typer.Option("--exclude-system", metavar="NAME", help="Exclude this system. Repeatable.")
    ] = None,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Show how often rows of each confidence are OK, also after isotonic regression.",
        ),
    ] = False,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples", min=0, metavar="N", help="Number of bootstrap samples of inputs; 0 for no intervals."
        ),
    ] = 1000,
    input_column: Annotated[
        str | None,
        typer.Option(
            "--input-column",
            metavar="NAME",
            help="Column that identifies the input. Default: the facts.",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option("--prefix", metavar="P", help="Prefix of the run's output columns. Default: from its plan."),
    ] = None,
    disagreements: Annotated[
        Path | None,
        typer.Option(
            "--disagreements",
            metavar="F.parquet",
            parser=written_parquet,
            help="Write the rows whose label is not that of the gold, with all columns.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Print all tables; --json always has them.")] = False,
    allow_partial: PartialOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare scores with gold labels and human ratings.

    Report accuracy, precision, recall, F1 and correlations with 95% intervals; not_OK is the positive class, and rows
    with an error are not_OK. Correlations need the extra `stats`.
    """
    from ..evaluation.report import EvaluateOptions, evaluate
    from ..evaluation.report import disagreements as find_disagreements
    from ..storage.local_copy import local_outputs
    from .console.evaluation import print_report

    options = EvaluateOptions(
        gold_fine=gold_fine,
        gold_rough=gold_rough,
        human=tuple(human or ()),
        threshold=threshold,
        metrics=tuple(metric or ("confidence",)),
        trained=tuple(trained or ()),
        by=tuple(by or ()),
        system=system,
        exclude_systems=tuple(exclude_system or ()),
        inputs=input_column,
        prefix=prefix,
        calibration=calibration,
        resamples=resamples,
        allow_partial=allow_partial,
    )
    with local_outputs(out) as folders:
        report = evaluate(folders, options, lambda message: say(f"note: {message}"))
        if disagreements is not None:
            _write(find_disagreements(folders, options), disagreements, out)
    shown = partial(print_report, by=tuple(by or ()), full=full)
    remote = [str(one) for one in out if not isinstance(one, Path)]
    present(report | {"path": ", ".join(remote)} if remote else report, as_json, shown)


def _write(table: pa.Table, path: Path, outs: Sequence[Location]) -> None:
    """Write the disagreements; ``outs``: what was evaluated."""
    import pyarrow.parquet as pq

    from ..storage.user_files import check_user_file, staged

    check_user_file(path, "--disagreements", inputs=[str(out) for out in outs], is_parquet=True)
    with staged(path, "--disagreements") as place:
        pq.write_table(table, place)
    say(f"{path}: {len(table):,} rows whose label is not that of the gold")
