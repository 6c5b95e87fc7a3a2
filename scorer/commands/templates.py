"""``scorer templates``: templates made from references, and what a template file misses."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from .common import (
    DeviceOption,
    MrColumnOption,
    Precision,
    PrecisionOption,
    TriplesColumnOption,
    guarded,
    local,
    print_json,
    say,
    say_once,
)

app = typer.Typer(
    name="templates",
    help="Make a template file from references, or check one against data.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Choose(StrEnum):
    """Ways to choose among the candidates of a predicate."""

    first = "first"
    random = "random"
    frequent = "frequent"
    nli = "nli"


@app.command("extract")
@guarded
def extract_command(
    inputs: Annotated[list[str], typer.Argument(metavar="IN", help="Parquet files, folders, globs or URIs.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="F.json",
            parser=local,
            help="Template file to write; all candidates go to F.candidates.json.",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Take only rows with this value. Repeatable: one column's values are alternatives.",
        ),
    ] = None,
    choose: Annotated[
        Choose, typer.Option("--choose", help="Which candidate of a predicate becomes its template.")
    ] = Choose.frequent,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of random, and of the references of nli.")] = 0,
    bundle: Annotated[
        str | None, typer.Option("--bundle", metavar="B", help="For nli: bundle folder, or the word embedded.")
    ] = None,
    references: Annotated[
        int, typer.Option("--references", min=1, metavar="N", help="For nli: references a candidate is compared with.")
    ] = 16,
    device: DeviceOption = "auto",
    precision: PrecisionOption = Precision.auto,
    text_column: Annotated[
        str, typer.Option("--text-column", metavar="NAME", help="Column of references: strings, or lists of them.")
    ] = "text",
    triples_column: TriplesColumnOption = "triples",
    mr_column: MrColumnOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite F.json and F.candidates.json.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Templates from references of single triples: subject and object are found in the text and cut out.

    first: as the data has them. random: any, by seed. frequent: from the most references. nli: the one whose filled
    sentences the model finds to entail, and be entailed by, references that it was not taken from.
    """
    from ..metric.inputs import ColumnNames
    from ..templating.making import make_templates

    engine = None
    if bundle is not None and choose is not Choose.nli:
        raise UsageError(f"--bundle is for --choose nli, but the choice is {choose.value}; leave one of them out")
    if bundle is not None:
        from ..inference.bundle import Bundle
        from ..inference.engine import Engine
        from ..inference.verify import verify
        from ..storage.local_paths import local_path

        opened = Bundle.load(str(local_path(bundle, "--bundle")))
        engine = Engine(opened, device=device, precision=precision.value, warn=say)
        verify(engine, say)
    report = make_templates(
        inputs,
        out,
        ColumnNames(text=text_column, triples=triples_column, mr=mr_column),
        where=where or (),
        choose=choose.value,
        seed=seed,
        model=engine,
        references=references,
        force=force,
    )
    if engine is not None:
        engine.close()
    if as_json:
        print_json(report)
    else:
        _print_extracted(report)


@app.command("check")
@guarded
def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=local, help="Template file.")],
    data: Annotated[
        list[str], typer.Option("--data", metavar="IN", help="Parquet, or a run's output folder; repeatable.")
    ],
    bundle: Annotated[
        str | None,
        typer.Option("--bundle", metavar="B", help="Score a sample for evidence: bundle folder, or the word embedded."),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=1, max=100_000, metavar="N", help="Rows of the sample.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the sample.")] = 0,
    device: DeviceOption = "auto",
    precision: PrecisionOption = Precision.auto,
    text_column: Annotated[
        str | None, typer.Option("--text-column", metavar="NAME", help="Column of texts. Default: the run's, or text.")
    ] = None,
    triples_column: Annotated[
        str | None, typer.Option("--triples-column", metavar="NAME", help="Column of triples. Default: the run's.")
    ] = None,
    mr_column: MrColumnOption = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="P", help="The run's --prefix. Default: what its plan says.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """What a template file misses in the data, and which of its templates fail far more often than others.

    Which fail is read from a run's output with these templates, or from a sample scored with --bundle. Findings are no
    errors: the exit code is 0.
    """
    from ..metric.inputs import ColumnNames
    from ..metric.slots import load_templates
    from ..scoring.output_files import run_columns
    from ..system.paths import user_path
    from ..templating.review import names_of, review

    templates = load_templates(file, say_once)
    plan = run_columns(user_path(data[0])) if len(data) == 1 else ColumnNames()
    names = names_of(plan, text_column, triples_column, mr_column, prefix)
    scorer = None
    if bundle is not None:
        from ..scoring.scorer import Scorer
        from ..storage.local_paths import local_path

        kept = ColumnNames(text=names.text, triples=names.triples, mr=names.mr, keep=())
        scorer = Scorer(
            str(local_path(bundle, "--bundle")),
            templates=file,
            device=device,
            precision=precision.value,
            columns=kept,
            log=say_once,
        )
    report = review(
        templates, data, names, scorer, sample=sample, seed=seed, note=lambda message: say(f"note: {message}")
    )
    if scorer is not None:
        scorer.close()
    if as_json:
        print_json({"file": str(file), **report})
    else:
        from .show.templates import print_check

        print_check(report)


def _print_extracted(report: dict[str, Any]) -> None:
    from .show.templates import print_extracted

    print_extracted(report)
