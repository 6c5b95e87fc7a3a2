"""``scorer sample``: draw rows to label by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OutputError
from .common import PartialOption, ScoredArgument, say, tell
from .files import written


def sample_command(
    out: ScoredArgument,
    file: Annotated[
        Path,
        typer.Option(
            "--file", metavar="F.csv", parser=written, help="CSV file to write; exits 2 if it exists, unless --force."
        ),
    ],
    rows: Annotated[int, typer.Option("--rows", min=10, metavar="N", help="Number of rows to label.")] = 200,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN", help="Column to spread the rows over. Default: system, if it exists."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random draw.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the file, and the labels in it.")] = False,
    allow_partial: PartialOption = False,
) -> None:
    """Draw rows to label by hand, for `scorer rate`.

    Rows are drawn at random from each label of the metric, at least ten of each. F.csv has the facts, the text, and a
    column `label` for OK, omission, hallucination, omission+hallucination or not_OK. It has neither the metric's label
    nor the system, which could influence people.
    """
    from ..evaluation.sampling import draw_rows, read_labels, write_items
    from ..storage.local_copy import local_outputs
    from ..storage.user_files import write_user_file

    if file.is_file() and not force:
        raise OutputError(f"--file {file} exists, and may hold labels; name another file, or pass --force")
    name = " ".join(map(str, out))
    with local_outputs(out) as folders:
        scored = read_labels(folders, name, (by or "system",), allow_partial)
        column = by or ("system" if scored.scored.has("system") else None)
        drawn = draw_rows(scored, rows, seed, column)
        content, notes = write_items(scored, drawn)
    for note in notes:
        say(f"note: {note}")
    write_user_file(file, content, "--file")
    tell(str(file))
    for code, label in scored.classes.items():
        say(f"{label}: {int((scored.fine[drawn] == code).sum()):,} of {int((scored.fine == code).sum()):,} rows")
    say(f"fill in the column label, then: scorer rate {name} --labels {file}")
