"""``scorer templates try``: which facts fail on a sample of rows, and what to change."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OutputError
from ..system.arguments import option, option_name
from .console import print_result, say_once, share
from .options import JSON, ColumnOptions, FormatOptions, InputsArgument, ModelOptions, written

if TYPE_CHECKING:
    from rich.console import Console

    from ..templating.trial_report import PredicateTrial, TrialReport

_LONGEST = 240
_UNKNOWN = (
    "What this cannot know: whether the texts are right (a fact that a text gets wrong fails too); how the proposal "
    "does on other rows (label some: scorer sample, scorer rate); and exchanged roles, which small models do not see: "
    "a sentence with home and away exchanged often passes.",
    "Read every sentence that is proposed: its words must be true of every row.",
)


def try_command(
    inputs: InputsArgument,
    model: ModelOptions,
    columns: ColumnOptions,
    source: FormatOptions,
    rows: int = option("Rows of the sample.", "N", 100, min=1),
    write: Path | None = option(
        "File for the proposed templates; exits 2 if it exists.", "T.json", None, parser=written
    ),
    force: bool = option("Replace T.json.", default=False),
    as_json: bool = JSON,
) -> None:
    """Show which facts fail on a sample of rows, why, and what to change.

    Compare wordings of templates and of sentences over several facts, taken from the texts themselves, by the share of
    rows that are OK, and propose a template file. The last line is the command to run. Takes the columns and options of
    `scorer plan`.
    """
    from ..storage.user_files import check_user_file
    from ..templating.trial_report import try_templates, write_proposal

    if write is not None:
        check_user_file(write, "--write", inputs=inputs)
        if write.exists() and not force:
            raise OutputError(f"--write: {write} exists; choose another name, or replace it with --force")
    report = try_templates(model.settings(columns), inputs, source.form, source.delimiter, rows, say_once)
    if write is not None and report.is_new:
        write_proposal(report, write)
    print_result(
        report,
        as_json,
        lambda console, result: _print(
            console, result, write, suggested_run(result, inputs, write, model, columns, source)
        ),
    )


def suggested_run(report: TrialReport, inputs: Sequence[str], file: Path | None, *groups: Any) -> str:
    """The command that scores the inputs with the options of this one, and the proposed templates and reading."""
    changed: dict[str, str] = {"reading": report.proposed_reading}
    if report.is_new:
        changed["templates"] = str(file or "T.json")
    words = ["scorer", "run", *map(shlex.quote, inputs), "--out", "scored"]
    for options in groups:
        for field in fields(options):
            value = changed.get(field.name, getattr(options, field.name))
            if value == field.default or not field.metadata:
                continue
            name = option_name(field.name, field.metadata)
            if value is True:
                words.append(name)
            else:
                words += [word for item in _items(value, field.name) for word in (name, shlex.quote(str(item)))]
    return " ".join(words)


def _items(value: Any, name: str) -> Iterable[Any]:
    if name == "keep":
        return [",".join(value)]
    return value if isinstance(value, tuple) else [value]


def _print(console: Console, report: TrialReport, file: Path | None, command: str) -> None:
    console.print(f"{report.rows:,} rows, {share(report.ok)} of them OK (reading: {report.reading})")
    console.print(f"texts that the facts do not say: {share(report.unsupported)}")
    if report.other_language:
        texts = f"{report.other_language:,} of {report.rows:,} texts"
        console.print(f"{texts} are probably in a language that the model does not read; leave their rows out")
    compares = report.ok_without is not None
    console.print(
        f"{'predicate':28} {'facts':>6} {'pass':>6} {'value as it is':>15} {'other notation':>15} {'no template':>12}"
        + f" {'pass without templates':>23}" * compares
    )
    for trial in report.predicates:
        shares = [trial.passed, trial.as_it_is, trial.other_notation, trial.without_template]
        cells = [f"{share(value):>{width}}" for value, width in zip(shares, (6, 15, 15, 12), strict=True)]
        if compares:
            cells.append(f"{share(trial.passed_without):>23}")
        console.print(f"{trial.predicate[:28]:28} {trial.facts:>6,} {' '.join(cells)}")
    for trial in report.predicates:
        _print_failing(console, trial)
    console.print("Hints" if report.hints else "Hints: none")
    for hint in report.hints:
        console.print(hint if hint.startswith(" ") else f"- {hint}")
    if report.is_new:
        console.print("Proposed templates" if file else "Proposed templates; --write T.json saves them")
        console.print(json.dumps(report.proposed, indent=1, ensure_ascii=False))
    else:
        unwritten_note = f"; {file} is not written" if file else ""
        console.print(
            f"Proposed templates: none, no other wording made more facts pass or more rows OK{unwritten_note}"
        )
    without = f", without the templates {share(report.ok_without)}" if compares else ""
    console.print(f"rows OK: {share(report.ok)}{without}, with the proposal {share(report.proposed_ok)}")
    for line in _UNKNOWN:
        console.print(line)
    console.print("Run with the proposal:" if report.is_new else "Run:")
    console.print(command)


def _print_failing(console: Console, trial: PredicateTrial) -> None:
    if not trial.failing:
        return
    console.print(f"{trial.predicate}: fails in {share(1 - trial.passed)}")
    for fact, text in trial.failing:
        console.print(f"  fact  {fact}")
        console.print(f"  text  {text[:_LONGEST]}")
