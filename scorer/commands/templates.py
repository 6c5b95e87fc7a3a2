"""``scorer templates``: extract templates from references, and check a template file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .common import InputsArgument, bundle_argument, local, present, print_json, say, say_once
from .ending import App
from .files import written
from .settings import DeviceOption, MrColumnOption, PrecisionOption, TriplesColumnOption

app = App(help="Extract templates from references, or check them.")


@app.command("extract")
def extract_command(
    inputs: InputsArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="F.json",
            parser=written,
            help="Template file to write; exits 2 if it exists. All candidates go to F.candidates.json.",
        ),
    ],
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Seed of the random choice, or of the order of references."),
    ] = 0,
    bundle: Annotated[
        str | None, typer.Option("--bundle", metavar="B", help="Model that chooses: bundle folder, or `embedded`.")
    ] = None,
    references: Annotated[
        int,
        typer.Option(
            "--references",
            min=1,
            metavar="N",
            help="Maximum number of references to compare a candidate with.",
        ),
    ] = 16,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    text_column: Annotated[
        str, typer.Option("--text-column", metavar="NAME", help="Column of references: strings, or lists of strings.")
    ] = "text",
    triples_column: TriplesColumnOption = None,
    mr_column: MrColumnOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace F.json and F.candidates.json.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Extract templates from references of single triples.

    Replace subject and object in each reference by slots. With --bundle, choose the candidate whose sentences best
    entail, and are entailed by, other references of the predicate; without it, a random candidate, which is much worse.
    """
    from ..metric.inputs import ColumnNames
    from ..templating.making import make_templates
    from .show.templates import print_extracted

    engine = None
    if bundle is None:
        say("note: without --bundle the templates are random candidates; pass --bundle to have the model choose")
    if bundle is not None:
        from ..inference.bundle import Bundle
        from ..inference.verify import open_verified

        opened = Bundle.load(bundle_argument(bundle, "--bundle"))
        engine, _ = open_verified(opened, device=device, precision=precision, warn=say)
    report = make_templates(
        inputs,
        out,
        ColumnNames(text=text_column, triples=triples_column, mr=mr_column),
        seed=seed,
        model=engine,
        references=references,
        force=force,
    )
    if engine is not None:
        engine.close()
    present(report, as_json, print_extracted)


@app.command("check")
def check_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=local, help="Template file; exits 2 if it is invalid.")
    ],
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="IN", help="Parquet files, or the output folder of a run. Repeatable."),
    ],
    text_column: Annotated[
        str | None,
        typer.Option("--text-column", metavar="NAME", help="Column of texts. Default: the run's, otherwise text."),
    ] = None,
    triples_column: Annotated[
        str | None,
        typer.Option(
            "--triples-column", metavar="NAME", help="Column of triples. Default: the run's, otherwise triples."
        ),
    ] = None,
    mr_column: MrColumnOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a template file against data.

    List predicates and objects without a template, and templates without a slot; exits 0 with findings. `scorer audit`
    shows templates that fail far more often than others.
    """
    from ..metric.inputs import ColumnNames
    from ..metric.slots import load_templates
    from ..scoring.output_files import run_columns
    from ..system.files import user_path
    from ..templating.check import review
    from .show.templates import print_check

    templates = load_templates(file, say_once)
    plan = run_columns(user_path(data[0])) if len(data) == 1 else ColumnNames()
    given = triples_column or mr_column
    names = replace(
        plan,
        text=text_column or plan.text,
        triples=triples_column if given else plan.triples,
        facts=None if given else plan.facts,
        mr=mr_column if given else plan.mr,
    )
    report = review(templates, data, names)
    if as_json:
        print_json({"file": str(file), **report})
    else:
        print_check(report)
