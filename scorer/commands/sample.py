"""``scorer sample``: draw rows to label by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import OutputError, UsageError
from .common import ScoredArgument, local, say, tell
from .files import written

if TYPE_CHECKING:
    from ..evaluation.rates.items import Asked


def sample_command(
    out: ScoredArgument,
    file: Annotated[
        Path,
        typer.Option(
            "--file", metavar="F.csv", parser=written, help="CSV file to write; exits 2 if it exists, unless --force."
        ),
    ],
    rows: Annotated[
        int | None, typer.Option("--rows", min=10, metavar="N", help="Number of rows to label. Default: 200.")
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            min=0.001,
            max=1,
            metavar="W",
            help="Instead of --rows: draw enough rows for a 95% interval of this width of the not_OK rate.",
        ),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            "--pilot",
            metavar="F.csv",
            parser=local,
            help="Labels of a first sample: draw further rows, mostly where the metric errs.",
        ),
    ] = None,
    twice: Annotated[
        int | None,
        typer.Option(
            "--twice",
            min=0,
            metavar="N",
            help="Number of rows for a second annotator, in F.second.csv. Default: a fifth of the rows.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="F.html", parser=written, help="Also write an HTML page for labelling."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN", help="Column to divide the rows by. Default: system, if it exists."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random draw.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace files, and the labels in them.")] = False,
) -> None:
    """Draw rows to label by hand, for `scorer rate`.

    Rows are stratified by the metric's label and confidence. A first sample is proportional; with its labels as
    --pilot, a second one is drawn mostly where the metric errs: label about a third of the rows first. F.csv has the
    facts, the text, and a column `label` for OK, omission, hallucination, omission+hallucination or not_OK; the
    metric's label is in F.design.json, for `scorer rate`.
    """
    from ..evaluation.rates.items import ask
    from ..evaluation.rates.label_file import design_path, second_path, write_design, write_items
    from ..evaluation.rates.page import render_page
    from ..storage.objects.copy import local_copy
    from ..storage.user_files import check_user_file, write_user_file

    if rows is not None and width is not None:
        raise UsageError("--rows and --width are both given; use one of them")
    read = [str(out), *([str(pilot), str(design_path(pilot))] if pilot is not None else [])]
    for given, option in ((file, "--file"), (design_path(file), "--file"), (second_path(file), "--file"),
                          (page, "--page")):  # fmt: skip
        if given is not None:
            check_user_file(given, option, inputs=read)
            if given.is_file() and not force:
                raise OutputError(f"{option} {given} exists, and may hold labels; name another file, or pass --force")
    with local_copy(out) as folder:
        asked = ask(folder, str(out), rows=rows, width=width, pilot=pilot, twice=twice, by=by, seed=seed)
    for note in asked.notes:
        say(f"note: {note}")
    if width is not None:
        _say_plan(asked, width, assumed=pilot is None)
    write_user_file(file, write_items(asked.items), "--file")
    write_user_file(design_path(file), write_design(asked.design), "--file")
    tell(str(file))
    if asked.second:
        write_user_file(second_path(file), write_items(asked.second), "--file")
        tell(str(second_path(file)))
    if page is not None:
        content = render_page(asked.items, out.name or str(out), file.name)
        write_user_file(page, content.encode("utf-8", "replace"), "--page")
        tell(str(page))
    for drawn in asked.design.strata:
        say(f"{drawn.name}: {drawn.drawn:,} of {drawn.rows:,} rows")
    both = f"--labels {pilot} --labels {file}" if pilot is not None else f"--labels {file}"
    say(f"fill in the column label, then: scorer rate {out} {both}")


def _say_plan(asked: Asked, width: float, *, assumed: bool) -> None:
    every, *groups = asked.needed
    say(f"{every.labels:,} labels give the not_OK rate of all rows an interval of about {width:g}")
    if groups:
        total = sum(one.labels for one in groups)
        say(f"an interval of that width for every {asked.by} needs about {total:,} labels ({len(groups)} groups)")
    if assumed:
        say(
            "assumed: the metric is wrong in 20% of the rows; label a first sample and pass it as --pilot to measure it"
        )
