"""``scorer sample``: draw rows to label by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError
from .common import guarded, local, location, say, tell

SYSTEM = "system"


@guarded
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
            "--file", metavar="F.csv", parser=local, help="CSV file to write; exits 2 if it exists, see --force."
        ),
    ],
    rows: Annotated[int, typer.Option("--rows", min=10, metavar="N", help="Number of rows to label.")] = 200,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="F.html", parser=local, help="Also write an HTML page to label the rows in."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN", help="Column whose groups share the rows. Default: system, if it exists."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random draw.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace files, and the labels in them.")] = False,
) -> None:
    """Draw rows to label by hand, for `scorer rate`.

    Rows are stratified by the metric's label and confidence; more are drawn where the metric is in doubt. The file
    records each row's probability. It has the facts in words, the text, and an empty column `label`; the metric's label
    is not in it. Fill in OK, omission, hallucination, omission+hallucination or not_OK.
    """
    from ..evaluation.rates.items import make_items, templates_of
    from ..evaluation.rates.label_file import write_items
    from ..evaluation.rates.page import render_page
    from ..evaluation.rates.population import read_population
    from ..evaluation.rates.sampling import draw_sample
    from ..metric.templates import Templates
    from ..storage.objects.copy import local_copy
    from ..storage.user_files import check_user_file, write_user_file

    for given, option in ((file, "--file"), (page, "--page")):
        if given is not None:
            check_user_file(given, option)
            if given.is_file() and not force:
                raise OutputError(f"{option} {given} exists, and may hold labels; name another file, or pass --force")
    with local_copy(out) as folder:
        population = read_population(folder, (by or SYSTEM,), str(out))
        if by is None and population.scored.has(SYSTEM):
            by = SYSTEM
        if not population.scored.finished:
            say(f"note: {out} has no _SUCCESS: the sample covers only the shards that are done")
        templates = templates_of(population)
        if templates is None:
            say("note: the templates of the run are not found unchanged; facts are written by the backoff template")
        sample = draw_sample(population, rows, seed, by)
        items = make_items(population, sample, templates or Templates(), by)
    write_user_file(file, write_items(items), "--file")
    tell(str(file))
    if page is not None:
        write_user_file(page, render_page(items, out.name or str(out)).encode("utf-8", "replace"), "--page")
        tell(str(page))
    for drawn in sample.design:
        say(f"{drawn.stratum.name}: {drawn.drawn:,} of {drawn.rows:,} rows")
    say(f"fill in the column label, then: scorer rate {out} --labels {file}")
