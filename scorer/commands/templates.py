"""``scorer templates``: extract templates from references, and check a template file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import OutputError, UsageError
from ..system.arguments import option
from ..templating import ExtractOptions
from .console import print_result, say, say_once, share
from .ending import App
from .options import JSON, ColumnNames, DeviceOptions, FormatOptions, InputsArgument, bundle_argument, local, written
from .try_templates import try_command

if TYPE_CHECKING:
    from rich.console import Console

    from ..templating.coverage import CheckReport, TemplateUse
    from ..templating.extract import ExtractionReport

app = App(help="Try templates on rows, extract them from references, or check them.")
app.command("try")(try_command)


@app.command("extract")
def extract_command(
    inputs: InputsArgument,
    *,
    out: Path = option(
        "File to write; exits 2 if it exists. All candidates go to F.candidates.json.", "F.json", parser=written
    ),
    device: DeviceOptions,
    options: ExtractOptions,
    bundle: str | None = option("Model for --choose nli: bundle folder, or `embedded`.", "B", None),
    force: bool = option("Replace F.json and F.candidates.json.", default=False),
    as_json: bool = JSON,
) -> None:
    """Extract templates from references of single triples.

    Replace subject and object in each reference by slots, and choose one candidate for each predicate. With --choose
    nli it is the one whose sentences best entail, and are entailed by, other references of the predicate.
    """
    from ..storage.user_files import check_user_file
    from ..templating.extract import candidates_path, make_templates

    if (options.choose == "nli") != (bundle is not None):
        raise UsageError("--choose nli and --bundle go together: the model of the bundle chooses")
    if out.suffix != ".json":
        raise UsageError(f"--out {out} is not the name of a JSON file; write F.json")
    for path in (out, candidates_path(out)):
        check_user_file(path, "--out", inputs=inputs)
        if path.exists() and not force:
            raise OutputError(f"--out: {path} exists; choose another name, or replace it with --force")
    model = None
    if bundle is not None:
        from ..inference.bundle import Bundle
        from ..inference.verification import open_engine

        opened = Bundle.load(bundle_argument(bundle, "--bundle"))
        model = open_engine(opened, **vars(device), warn=say)
    report = make_templates(inputs, out, options, model)
    if model is not None:
        model.close()
    print_result(report, as_json, print_extracted)


@app.command("check")
def check_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=local, help="Template file; exits 2 if it is invalid.")
    ],
    *,
    data: tuple[str, ...] = option("Input files, as of `scorer run`, or the output folder of a run. Repeatable.", "IN"),
    text_column: str | None = option(
        "Column of texts. Default: the run's, otherwise text.", "NAME", None, variable=True
    ),
    triples_column: str | None = option(
        "Column of triples. Default: the run's, otherwise triples.", "NAME", None, variable=True
    ),
    attributes_column: str | None = option(
        "Column of attributes, or comma-separated columns. Default: the run's.", "NAME", None, variable=True
    ),
    subject_column: str | None = option(
        "Column or attribute key that names the subject. Default: the run's, otherwise the key name.",
        "NAME",
        None,
        variable=True,
    ),
    mr_column: str | None = option("Column of E2E slots, used instead of triples.", "NAME", None, variable=True),
    source: FormatOptions,
    as_json: bool = JSON,
) -> None:
    """Check a template file against data.

    List predicates and objects without a template, templates without a slot, and sentences that are never used; exits 0
    with findings. `scorer audit` shows templates that fail far more often than others.
    """
    from ..metric.fact_templates import Templates
    from ..scoring.outputs import Output
    from ..storage.run_plan import PLAN
    from ..templating.coverage import review

    templates = Templates.load(file, say_once)
    plan = ColumnNames()
    if len(data) == 1 and (local(data[0]) / PLAN).exists():
        plan = Output.open(local(data[0]), allow_partial=True).columns
    facts_column = triples_column or mr_column or attributes_column
    names = replace(
        plan,
        text=text_column or plan.text,
        triples=triples_column if facts_column else plan.triples,
        facts=None if facts_column else plan.facts,
        mr=mr_column if facts_column else plan.mr,
        attributes=attributes_column if facts_column else plan.attributes,
        subject=subject_column or plan.subject,
    )
    report = review(templates, str(file), data, names, source.form, source.delimiter)
    print_result(report, as_json, print_check)


LINES = 20
"""Number of findings of a kind that are shown; the JSON has all."""


def print_extracted(console: Console, report: ExtractionReport) -> None:
    """Print the numbers of templates, and why references gave no template."""
    with_template = report.predicates - len(report.missing)
    console.print(f"{report.out}: {with_template:,} templates of {report.predicates:,} predicates")
    console.print(f"{report.candidates_file}: {report.candidates:,} candidates")
    used = share(report.used / report.references)
    console.print(f"references: {report.references:,}, {report.used:,} gave a template ({used})")
    for reason, n in report.rejected.items():
        console.print(f"  {reason}: {n:,}")
    _listed(console, "predicates without a template", report.missing)


def print_check(console: Console, report: CheckReport) -> None:
    """Print the findings of each kind, by falling number of facts."""

    def part(facts: int) -> str:
        return f"{facts:,} facts ({share(facts / report.facts)})"

    by_backoff = f"{report.backoff:,} by backoff ({share(report.backoff / report.facts if report.facts else 0.0)})"
    console.print(f"{report.facts:,} facts in {report.rows:,} rows; {by_backoff}")
    for kind, n in report.errors.items():
        console.print(f"rows with an error, {kind}: {n:,}")
    for title, is_value in (("predicates without a template", False), ("objects missing from a per-object map", True)):
        uses = [use for use in report.missing if (use.object is not None) == is_value]
        _listed(console, title, [f"{_name(use)}: {part(use.facts)}" for use in uses])
    lacking = [
        f"{_name(use)} lacks {' and '.join(f'<{slot}>' for slot in use.slots)}: {use.template}"
        for use in report.without_slot
    ]
    _listed(console, "templates without a slot", lacking)
    if report.sentences:
        console.print(f"said by sentences: {part(report.in_sentences)}")
    unused = [f"{use.sentence}: {use.unused}" for use in report.sentences if use.unused is not None]
    _listed(console, "sentences that are never used", unused)
    if report.unused:
        console.print(f"predicates of the file that do not occur in the data: {len(report.unused):,}")


def _listed(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(f"{title}: {len(lines):,}")
        for line in lines[:LINES]:
            console.print(f"  {line}")
        if len(lines) > LINES:
            console.print(f"  and {len(lines) - LINES:,} more; --json has them all")


def _name(use: TemplateUse) -> str:
    return use.predicate if use.object is None else f"{use.predicate} = {use.object}"
