"""``scorer sample``: draw rows to label by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OutputError, UsageError
from .common import local, location, say, tell
from .files import written

if TYPE_CHECKING:
    from ..evaluation.rates.sampling import Needed

SYSTEM = "system"


def sample_command(
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Argument(
            metavar="OUT", parser=location, help="Output of `scorer run`, local or in a store, or one scored file."
        ),
    ],
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
    from ..evaluation.rates.estimates import true_rates
    from ..evaluation.rates.given import from_files
    from ..evaluation.rates.items import make_design, make_items, templates_of
    from ..evaluation.rates.label_file import design_path, second_path, write_design, write_items
    from ..evaluation.rates.page import render_page
    from ..evaluation.rates.population import read_population
    from ..evaluation.rates.sampling import draw_sample, plan_labels
    from ..metric.templates import Templates
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
        population = read_population(folder, (by or SYSTEM,), str(out))
        if by is None and population.scored.has(SYSTEM):
            by = SYSTEM
        if not population.scored.finished:
            say(f"note: {out} is not finished: the sample covers only the shards that are done")
        first = from_files(population, [pilot]) if pilot is not None else None
        before = len(first.rows) if first is not None else 0
        count = rows or 200
        if width is not None:
            classes = true_rates(population, first)[0].classes if first is not None else ()
            needed = plan_labels(population, width, by, classes)
            count = max(10, needed[0].labels - before)
            _say_plan(needed, width, by, assumed=first is None)
        templates = templates_of(population)
        if templates is None:
            say("note: the templates of the run are not found unchanged; facts are written by the backoff template")
        sample = draw_sample(population, count, seed, by, first)
        items = make_items(population, sample, templates or Templates(), seed)
    again = len(items) // 5 if twice is None else min(twice, len(items))
    design = make_design(population, sample, items, again, seed)
    asked_twice = [item for item in items if design.items[item.item].twice]
    write_user_file(file, write_items(items), "--file")
    write_user_file(design_path(file), write_design(design), "--file")
    tell(str(file))
    if asked_twice:
        write_user_file(second_path(file), write_items(asked_twice), "--file")
        tell(str(second_path(file)))
    if page is not None:
        content = render_page(items, out.name or str(out), file.name)
        write_user_file(page, content.encode("utf-8", "replace"), "--page")
        tell(str(page))
    for drawn in sample.design:
        say(f"{drawn.stratum.name}: {drawn.drawn:,} of {drawn.rows:,} rows")
    both = f"--labels {pilot} --labels {file}" if pilot is not None else f"--labels {file}"
    say(f"fill in the column label, then: scorer rate {out} {both}")


def _say_plan(needed: Sequence[Needed], width: float, by: str | None, *, assumed: bool) -> None:
    say(f"{needed[0].labels:,} labels give the not_OK rate of all rows an interval of about {width:g}")
    if by is not None and len(needed) > 1:
        total = sum(one.labels for one in needed[1:])
        say(f"an interval of that width for every {by} needs about {total:,} labels ({len(needed) - 1} groups)")
    if assumed:
        say(
            "assumed: the metric is wrong in 20% of the rows; label a first sample and pass it as --pilot to measure it"
        )
