"""``scorer templates``: extract templates from references, and check a template file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import InputsArgument, bundle_argument, local, print_json, say, say_once
from .ending import App
from .files import written
from .settings import DeviceOption, MrColumnOption, PrecisionOption, TriplesColumnOption

app = App(help="Extract templates from references, or check them.")


NO_MODEL_NOTE = (
    "without --bundle, the template of a predicate is its first candidate, which is no better than a random one; "
    "pass --bundle to choose by the model (nli)"
)


class Choose(StrEnum):
    """Ways to choose among the candidates of a predicate; see :mod:`scorer.templating.choosing`."""

    first = "first"
    random = "random"
    frequent = "frequent"
    nli = "nli"


@app.command("extract")
def extract_command(
    inputs: InputsArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="F.json",
            parser=written,
            help="Template file to write; exits 2 if it exists, see --force. All candidates go to F.candidates.json.",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Use only rows with this value. Repeatable; values of the same column are alternatives.",
        ),
    ] = None,
    choose: Annotated[
        Choose | None,
        typer.Option("--choose", help="How to choose a predicate's template. Default: nli with --bundle, else first."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed for random, and for the references of nli.")
    ] = 0,
    bundle: Annotated[
        str | None, typer.Option("--bundle", metavar="B", help="Model for nli: bundle folder, or `embedded`.")
    ] = None,
    references: Annotated[
        int,
        typer.Option(
            "--references", min=1, metavar="N", help="nli: maximum number of references to compare a candidate with."
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

    Find subject and object in each reference and replace them by slots. --choose selects one candidate per predicate:
    nli takes the one whose sentences best entail, and are entailed by, references that it does not come from, and needs
    --bundle; first takes the first in the data, random any, frequent the one with the most references. Only nli was
    measured to be better than random.
    """
    from ..metric.inputs import ColumnNames
    from ..templating.making import make_templates
    from .show.templates import print_extracted

    engine = None
    if choose is None and bundle is None:
        say(f"note: {NO_MODEL_NOTE}")
    if bundle is not None and choose is not None and choose is not Choose.nli:
        raise UsageError(f"--bundle is used by --choose nli only, not by {choose.value}; remove one of them")
    if bundle is not None:
        from ..inference.bundle import Bundle
        from ..inference.engine import Engine
        from ..inference.verify import verify

        opened = Bundle.load(bundle_argument(bundle, "--bundle"))
        engine = Engine(opened, device=device, precision=precision, warn=say)
        verify(engine, say)
    report = make_templates(
        inputs,
        out,
        ColumnNames(text=text_column, triples=triples_column, mr=mr_column),
        where=where or (),
        choose=choose.value if choose is not None else None,
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
        print_extracted(report)


@app.command("check")
def check_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=local, help="Template file; exits 2 if it is invalid.")
    ],
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="IN", help="Parquet files, or the output folder of a run. Repeatable."),
    ],
    bundle: Annotated[
        str | None,
        typer.Option(
            "--bundle", metavar="B", help="Score a sample with this bundle as evidence: a folder, or `embedded`."
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=1, max=100_000, metavar="N", help="Number of rows in the sample.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the sample.")] = 0,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
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
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="P", help="The --prefix of the run. Default: as in its plan.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a template file against data.

    List predicates and objects without a template, and templates that fail far more often than others. The failures
    come from the output of a run with this file, or from a sample scored with --bundle. Findings are not errors: the
    exit code is 0.
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

        scorer = Scorer(
            bundle_argument(bundle, "--bundle"),
            templates=file,
            device=device,
            precision=precision,
            columns=names.inputs(),
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
