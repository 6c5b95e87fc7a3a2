"""``scorer templates try``: which facts fail on a sample, why, and what to change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from ..metric import Reading
from ..metric.fact_templates import PROPOSED, Templates
from ..metric.languages import LanguageSide
from ..metric.slots import unquoted
from ..scoring.scorer import Scorer
from ..scoring.settings import Settings
from ..storage.user_files import write_user_file
from ..system.codec import Record
from ..system.files import Format
from .proposals import GOOD, LEAST_GAIN, OFTEN, SELDOM, Content, Proposer, notation_counts, pass_shares, share
from .quantities import said_in_another_unit
from .trial import SampledRow, Trial, check_settings, read_sample

EXAMPLES = 3
MANY = 0.3
"""Share of texts with a value in another notation or unit from which there is a hint."""


class PredicateTrial(Record, frozen=True, kw_only=True):
    """A predicate in the sample, its number of facts and shares of them."""

    predicate: str
    facts: int
    passed: float
    """Share of facts that pass their check."""
    as_it_is: float
    """Share of facts with the value in the text as the table has it."""
    other_notation: float
    """Share of facts with the value in the text in another notation only."""
    without_template: float
    passed_without: float | None = None
    """Share of facts that pass without any template; ``None`` where none were tried."""
    failing: list[tuple[str, str]]
    """Facts that fail, as worded, each with its text."""
    other_unit: float = 0.0
    """Share of facts with the value in the text in another unit only."""
    other_unit_example: tuple[str, str] | None = None
    """A value of them, and the words of its text."""
    absent: str | None = None
    """A value that its text does not have in any notation or unit."""


class TrialReport(Record, frozen=True, kw_only=True):
    """Findings of ``scorer templates try``."""

    schema: int = 1
    rows: int
    """Rows judged."""
    ok: float
    """Share of rows that are ``OK``."""
    unsupported: float
    """Share of rows with a text that the facts do not say."""
    other_language: int
    """Rows with a text that is probably in a language that the model does not read."""
    reading: Reading
    """The reading of the run."""
    predicates: list[PredicateTrial]
    """The predicates, by their share of facts that pass."""
    hints: list[str]
    """Advice for the user."""
    proposed: Content
    """A template file."""
    is_new: bool
    """Whether it differs from the templates that were tried."""
    proposed_reading: Reading
    proposed_ok: float
    """Share of rows that are ``OK`` under the proposed file and reading."""
    ok_without: float | None = None
    """Share of rows that are ``OK`` without any template; ``None`` where none were tried."""


def try_templates(
    settings: Settings,
    inputs: Sequence[str],
    form: Format,
    delimiter: str | None,
    rows: int,
    log: Callable[[str], None],
) -> TrialReport:
    """Judge a sample under the templates of some settings, and look for better ones.

    Args:
        rows: number of rows of the sample.
        log: called with remarks for the user.

    Raises:
        UsageError: settings under which templates decide nothing.
        InputError, ShardError, ColumnError: as a run would.
    """
    with Scorer(**settings.arguments(), log=log) as scorer:
        templates, options = scorer.pipeline.templates, scorer.pipeline.options
        check_settings(options, settings.columns)
        windows = read_sample(inputs, form, delimiter, settings.columns, rows)
        content = _read_content(settings, scorer.engine.bundle.templates_file)
        trial, languages = Trial(scorer.engine, windows, options), scorer.pipeline.languages
        return _report(trial, templates, content, settings.reading, languages)


def _read_content(settings: Settings, of_bundle: Path | None) -> Content:
    if isinstance(settings.templates, dict):
        return dict(settings.templates)
    file = of_bundle if settings.templates is None else Path(str(settings.templates))
    return {} if file is None else dict(json.loads(file.read_text(encoding="utf-8-sig")))


def _report(
    trial: Trial, templates: Templates, content: Content, reading: Reading, languages: LanguageSide | None
) -> TrialReport:
    judged = trial.judge(templates, reading)
    without = trial.judge(Templates(), reading) if content and trial.has_backoff else None
    predicates = sorted(_predicates(judged, templates, without), key=lambda predicate: predicate.passed)
    noted = [predicate for predicate in predicates if predicate.other_notation > MANY]
    proposed_reading: Reading = "plain" if noted else reading
    proposer = Proposer(trial, content, proposed_reading)
    proposer.propose()
    after = trial.judge(Templates.from_dict(proposer.content), proposed_reading)
    hints = []
    if noted and reading != "plain":
        shares = ", ".join(f"{predicate.predicate} in {predicate.other_notation:.0%}" for predicate in noted)
        hints.append(f"texts write values in another notation than the table ({shares}): use --reading plain")
    return TrialReport(
        rows=len(judged),
        ok=share(judged, lambda row: row.is_ok),
        unsupported=share(judged, lambda row: not row.supported),
        other_language=0 if languages is None else sum(languages.is_other(row.text) for row in judged),
        reading=reading,
        predicates=predicates,
        hints=[
            *hints,
            *_hints_of_units(predicates),
            *_hints_of_templates(predicates),
            *proposer.notes,
            *_hints_of_failing(after, Templates.from_dict(proposer.content)),
        ],
        proposed=proposer.content,
        is_new=proposer.content != content,
        proposed_reading=proposed_reading,
        proposed_ok=share(after, lambda row: row.is_ok),
        ok_without=None if without is None else share(without, lambda row: row.is_ok),
    )


def _predicates(
    rows: Sequence[SampledRow], templates: Templates, without: Sequence[SampledRow] | None = None
) -> list[PredicateTrial]:
    """The predicates of judged rows. ``without``: the same rows, judged without templates."""
    passed_without = {} if without is None else pass_shares(without, templates)
    facts: dict[str, list[tuple[bool, bool, bool, bool]]] = {}
    failing: dict[str, list[tuple[str, str]]] = {}
    other_units: dict[str, list[tuple[str, str]]] = {}
    absent: dict[str, str] = {}
    for row in rows:
        for number, triple in enumerate(row.facts):
            predicate, value = templates.canonical(triple.predicate), unquoted(triple.object).replace("_", " ")
            notation = notation_counts(row, {predicate: value})[predicate]
            passed, has_template = row.passed[number], row.has_template[number]
            facts.setdefault(predicate, []).append((passed, *notation, not has_template))
            if not any(notation):
                if (words := said_in_another_unit(predicate, value, row.text)) is not None:
                    other_units.setdefault(predicate, []).append((value, words))
                else:
                    absent.setdefault(predicate, value)
            if not passed and len(failing.setdefault(predicate, [])) < EXAMPLES:
                failing[predicate].append((row.worded[number], " ".join(row.text.split())))
    return [
        PredicateTrial(
            predicate=predicate,
            facts=len(outcomes),
            passed=share(outcomes, lambda fact: fact[0]),
            as_it_is=share(outcomes, lambda fact: fact[1]),
            other_notation=share(outcomes, lambda fact: fact[2]),
            without_template=share(outcomes, lambda fact: fact[3]),
            passed_without=passed_without.get(predicate),
            failing=failing.get(predicate, []),
            other_unit=len(other_units.get(predicate, ())) / len(outcomes),
            other_unit_example=next(iter(other_units.get(predicate, ())), None),
            absent=absent.get(predicate),
        )
        for predicate, outcomes in facts.items()
    ]


def _hints_of_units(predicates: Sequence[PredicateTrial]) -> list[str]:
    """Advice about values that fail since the texts give them in another unit, which no reading converts."""
    hints = []
    for trial in predicates:
        if trial.other_unit_example is not None and trial.other_unit > MANY and trial.passed < GOOD:
            value, words = trial.other_unit_example
            hints.append(
                f"{trial.predicate}: {trial.other_unit:.0%} of the texts give its value in another unit or notation "
                f"('{value}' is '{words}' in its text): write the column as the texts do"
            )
    return hints


def _hints_of_templates(predicates: Sequence[PredicateTrial]) -> list[str]:
    """Advice about templates that are worse than none."""
    return [
        f"{trial.predicate}: its facts pass in {trial.passed:.0%} with the templates, in {trial.passed_without:.0%} "
        "without: leave its template out, or word it otherwise"
        for trial in predicates
        if trial.passed_without is not None and (trial.passed_without - trial.passed) * trial.facts >= LEAST_GAIN
    ]


def _hints_of_failing(rows: Sequence[SampledRow], templates: Templates) -> list[str]:
    """Advice about predicates that still fail under the proposed templates."""
    hints = []
    for shares in sorted(_predicates(rows, templates), key=lambda shares: shares.passed):
        with_value = shares.as_it_is + shares.other_notation
        if shares.other_unit > MANY:
            continue
        if with_value < SELDOM and shares.facts > EXAMPLES and shares.passed < OFTEN:
            example = "" if shares.absent is None else f", such as {shares.absent[:60]!r}"
            hints.append(
                f"{shares.predicate}: {with_value:.0%} of the texts say its value as it is{example}: leave it out "
                "of the facts, word its values in a map of objects, or mark it optional, --optional "
                f"'{shares.predicate}=VALUE'"
            )
        elif with_value > GOOD and shares.passed < GOOD:
            hints.append(
                f"{shares.predicate}: {with_value:.0%} of the texts have its value, and its fact passes in "
                f'{shares.passed:.0%}: word it otherwise, "{shares.predicate}": "... <object> ..."'
            )
    return hints


def write_proposal(report: TrialReport, file: Path) -> None:
    """Write the proposed templates, marked as proposed."""
    mark = f"by scorer templates try, from {report.rows:,} rows; read every sentence"
    content = {PROPOSED: mark, **{k: v for k, v in report.proposed.items() if k != PROPOSED}}
    write_user_file(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode(), "--write")
