"""The audit itself: two outputs in, one document out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ColumnError, UsageError
from ..metric.group_values import spelled
from ..metric.templates import Templates
from ..scoring.outputs import Output, open_labels
from ..scoring.signature import differences, parse
from ..storage.finished_output import paths_of
from ..storage.parts import refuse_unequal
from ..system.arguments import check_fields
from . import findings, gates, history, queries
from .changes import add_changes, compare_groups, correct, match
from .database import DEFAULT, Database, Grouping
from .document import (
    Baseline,
    BaselineChanges,
    Document,
    Finding,
    GroupComparison,
    GroupFigures,
    OptionsShown,
    RowCounts,
    TemplateFigures,
    TemplatesShown,
)
from .examples import flips, got_worse, group_columns, of_finding, worst_rows
from .figures import RunRates, effect_notes, group_figures
from .scan import FINE_OF, FactReader, Policy, ScannedRun, fact_column, fact_form, scan_output

WORST = 30
_MOST_WITH_ROWS = 6
"""Findings that have rows."""


@dataclass(frozen=True)
class AuditOptions:
    """What is audited, and how.

    ``baseline``: the output to compare with, or its parts. ``gates``: TOML files. ``by``: groupings, each a tuple of
    columns; by default the column ``system``, if there is one. ``errors``: whether error rows count as not_OK
    (``not-ok``) or not at all (``excluded``). ``across_signatures``: compare outputs that were scored differently.
    ``worst``: rows of the
    sample, of each kind. ``history``: the history file. ``compare``: two values of the column of the first grouping; by
    default the two largest groups.
    """

    baseline: Path | tuple[Path, ...] | None = None
    gates: tuple[Path, ...] = ()
    by: tuple[Grouping, ...] = ()
    errors: Policy = "not-ok"
    across_signatures: bool = False
    worst: int = WORST
    history: Path | None = None
    compare: tuple[str, str] | None = None
    require_gates: bool = False
    allow_partial: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


def audit(out: Path | Sequence[Path], options: AuditOptions | None = None) -> Document:
    """Audit the finished output folder ``out``, or the parts of one.

    Raises:
        OutputError: no finished output, or one that changed while it was read. UsageError: signatures that differ, a
        partial output against a complete one, or an invalid gate or option. ColumnError: a column to group by that is
        not there.
    """
    return _Audit(out, options or AuditOptions()).document()


class _Audit:
    """The state of one audit."""

    def __init__(self, out: Path | Sequence[Path], options: AuditOptions) -> None:
        self.options = options
        self.rules = gates.load_gates(options.gates)
        self.output = open_labels(*paths_of(out), allow_partial=options.allow_partial)
        earlier = paths_of(options.baseline or ())
        self.earlier = open_labels(*earlier, allow_partial=options.allow_partial) if earlier else None
        self.differs = self._compare_signatures()
        if self.earlier is not None:
            refuse_unequal(self.output.coverage, self.earlier.coverage, options.allow_partial)
        gates.check_columns(self.rules, self.output.names, self.earlier is not None)
        self.by = self._groupings()
        self.groupings = list(dict.fromkeys([(), *self.by, *(rule.grouping for rule in self.rules)]))
        self.templates: Templates | None
        self.template_file: Path | None
        self.templates, self.template_file = self.output.find_templates() or (None, None)

    def document(self) -> Document:
        """Read, count, compare, judge; the history is written once it is certain that all figures are of one run."""
        with self.output.unchanged(), (self.earlier or self.output).unchanged(), Database(self.groupings) as database:
            document, shown = self._judge(database)
        if self.options.history is not None:
            rows = history.rows_of(document.finished, document.signature, document.status, shown)
            document.history = history.append(self.options.history, rows)
        return document

    def _judge(self, database: Database) -> tuple[Document, list[GroupFigures]]:
        run = scan_output(self.output, database, "now", self._reader(self.output, self.templates))
        before = None
        if self.earlier is not None:
            before = scan_output(self.earlier, database, "was", self._reader(self.earlier, None))
            match(before, run)
        figures = self._figures(run, before)
        changes = self._changes(run, before, figures)
        everything = figures[()][0]
        template_figures, looks_wrong = self._templates(run, everything)
        shown = [everything, *(group for grouping in self.by for group in _ranked(figures[grouping]))]
        found = gates.evaluate(self.rules, figures.__getitem__, run.omissions_checked)
        checked = gates.checked(found, self.options.require_gates)
        signature, summary = self.output.signature, self.output.summary
        baseline = self._baseline()
        columns, most = group_columns(self.groupings), self.options.worst
        said = findings.all_findings(
            found,
            [*shown, *(group for one in self.groupings if one not in [(), *self.by] for group in figures[one])],
            baseline,
            changes,
            [*looks_wrong, *findings.of_bundle(self.output)],
        )
        if before is not None:
            self._add_rows(said, before, run, columns)
        document = Document(
            out=_printable(self.output.name),
            audited=datetime.now(UTC).isoformat(timespec="seconds"),
            finished=summary.finished,
            partial=self.output.coverage.reason,
            status="fail" if checked.nothing_checked and checked.required else gates.worst_of(found),
            headline=findings.headline(shown, said, checked),
            checked=checked,
            signature=signature,
            bundle=findings.bundle_of(signature),
            templates=TemplatesShown(
                sha=parse(signature).get("templates", ""),
                file=_printable(self.template_file) if self.template_file is not None else None,
            ),
            device=summary.device.name or summary.device.kind,
            versions=dict(summary.versions),
            options=OptionsShown(by=[list(grouping) for grouping in self.by], errors=self.options.errors),
            rows=RowCounts(
                all=everything.rows,
                scored=everything.scored,
                reused=everything.reused,
                errors=everything.errors,
                notes=everything.notes,
            ),
            baseline=baseline,
            baseline_changes=changes,
            findings=said,
            gates=found,
            groups=shown,
            template_figures=template_figures,
            worst=worst_rows(run, queries.worst(run, most), columns, self.templates),
            worse=got_worse(before, run, most, columns, self.templates) if before is not None else None,
            comparison=self._comparison(run, figures),
            history=[],
            notes=[*self._notes(run), *effect_notes(shown)],
        )
        return document, shown

    def _add_rows(self, found: Sequence[Finding], before: ScannedRun, run: ScannedRun, columns: Sequence[str]) -> None:
        """Give the first findings about groups that got worse some rows to read."""
        if not self.options.worst:
            return
        changed = [one for one in found if one.kind == "changed"]
        chosen = [one for one in changed if one.group] or changed  # those of a group say what those of all rows would
        for one in chosen[:_MOST_WITH_ROWS]:
            grouping = next(g for g in run.database.groups if set(g) == one.group.keys())
            code = run.database.groups[grouping].groups().index(one.group)
            one.rows = of_finding(before, run, one, grouping, code, columns, self.templates)

    def _compare_signatures(self) -> list[str]:
        if self.earlier is None:
            return []
        if {out.resolve() for out in self.earlier.outs} & {out.resolve() for out in self.output.outs}:
            raise UsageError(f"--baseline {self.earlier.name} is the output itself; pass the output of an earlier run")
        differs = differences(self.earlier.full_signature, self.output.full_signature)
        if differs and not self.options.across_signatures:
            raise UsageError(
                f"{self.output.name} was scored differently from {self.earlier.name} ({'; '.join(differs)}); a "
                "difference may come from the data or from the scoring; score the baseline again, or pass "
                "--across-signatures"
            )
        return differs

    def _groupings(self) -> list[Grouping]:
        names = self.output.names
        for grouping in self.options.by:
            if not grouping:
                raise UsageError(f"--by names no column; the columns are {', '.join(names)}")
            missing = [column for column in grouping if column not in names]
            if missing:
                raise ColumnError(f"--by: no column {missing[0]!r}; the columns are {', '.join(names)}")
        default: list[Grouping] = [(DEFAULT,)] if DEFAULT in names else []
        return list(dict.fromkeys(self.options.by)) if self.options.by else default

    def _reader(self, output: Output, known: Templates | None) -> FactReader | None:
        if fact_column(output) is None:
            return None
        by_object = known.depends_on_object if known is not None and known.by_object else None
        return FactReader(fact_form(output), by_object, output.columns.subject, output.schema)

    def _figures(self, run: ScannedRun, before: ScannedRun | None) -> dict[Grouping, list[GroupFigures]]:
        now = RunRates(run, self.options.errors)
        was = RunRates(before, self.options.errors) if before is not None else None
        figures = {}
        for grouping in self.groupings:
            confidences = queries.confidences(run, grouping)
            figures[grouping] = group_figures(now, grouping, confidences)
            if was is not None:
                add_changes(was, now, grouping, confidences, figures[grouping])
        correct([group for grouping in dict.fromkeys([(), *self.by]) for group in figures[grouping]])
        return figures

    def _changes(
        self, run: ScannedRun, before: ScannedRun | None, figures: dict[Grouping, list[GroupFigures]]
    ) -> BaselineChanges | None:
        change = figures[()][0].change
        if before is None or change is None:
            return None
        kept, labelled = queries.kept(run, ())[0], FINE_OF >= 0
        return BaselineChanges(
            added=change.added,
            removed=change.removed,
            kept=change.kept,
            errors_appeared=int(kept[np.ix_(labelled, ~labelled)].sum()),
            errors_gone=int(kept[np.ix_(~labelled, labelled)].sum()),
            flips=flips(before, run, queries.flipped(run), same_signature=not self.differs),
        )

    def _comparison(self, run: ScannedRun, figures: dict[Grouping, list[GroupFigures]]) -> GroupComparison | None:
        """Two groups of the first grouping, paired by input: those that were named, or the two largest.

        Raises:
            UsageError: no group has a value that was named, or there is no grouping by one column.
        """
        named = self.options.compare
        grouping = self.by[0] if self.by else ()
        if named is not None and len(grouping) != 1:
            raise UsageError("--compare names two values of one column; name the column with --by")
        if not grouping:
            return None
        groups = figures[grouping]
        chosen = sorted(range(len(groups)), key=lambda code: -groups[code].rows)[:2]
        if named is not None:
            values = [spelled(group.group[grouping[0]]) for group in groups]
            missing = [value for value in named if value not in values]
            if missing:
                there = ", ".join(sorted(values)[:20])
                raise UsageError(f"--compare: no row has {grouping[0]}={missing[0]}; there is {there}")
            chosen = [values.index(value) for value in named]
        if len(chosen) < 2:
            return None
        first, second = chosen if named is not None else sorted(chosen, key=lambda code: _name(groups[code]))
        return compare_groups(RunRates(run, self.options.errors), grouping, first, second)

    def _templates(self, run: ScannedRun, everything: GroupFigures) -> tuple[list[TemplateFigures], list[Finding]]:
        filled = fact_form(self.output) != "facts"
        found = findings.template_figures(run, self.templates) if filled and self.templates is not None else []
        grouping: Grouping = self.by[0] if self.by else ()
        groups = run.database.groups[grouping].groups()
        return found, findings.of_templates(run, grouping, groups, everything, found)

    def _baseline(self) -> Baseline | None:
        if self.earlier is None:
            return None
        return Baseline(
            out=_printable(self.earlier.name),
            partial=self.earlier.coverage.reason,
            finished=self.earlier.summary.finished,
            signature=self.earlier.signature,
            same_signature=not self.differs,
            differs=self.differs,
            rows=len(self.earlier),
        )

    def _notes(self, run: ScannedRun) -> list[str]:
        """Figures that are missing, and why."""
        documents = self.output.columns.document is not None
        said = (
            (not len(run), "the output has no rows"),
            (documents, "texts were checked against documents, so there are no figures of omissions and facts"),
            (
                not run.has_facts and not documents,
                "figures by predicate and template are missing: the run did not keep the facts (--keep)",
            ),
            (not run.has_text, "figures by length of text are missing: the run did not keep the texts (--keep)"),
            (
                not run.omissions_checked and not documents,
                "omissions were not checked (--checks hallucination): their rates are null",
            ),
            (
                self.templates is None,
                "figures by template are missing: the template file is not where the run found it, or has changed",
            ),
        )
        found = [note for holds, note in said if holds]
        found += [
            f"the column {key!r} of the files is used, and hides the key {key!r} of their folders"
            for key in self.output.hidden_keys
        ]
        if self.options.errors == "excluded":
            found.append("rows with errors are left out of the rates of labels (--errors excluded)")
        return found


def _name(group: GroupFigures) -> str:
    return ", ".join(value or "" for value in group.group.values())


def _ranked(groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    """By falling not_OK rate; groups without rows last."""

    def place(group: GroupFigures) -> tuple[Any, ...]:
        value = group.rates["not_ok_rate"].value
        return (value is None, -(value or 0.0), *((v is None, v or "") for v in group.group.values()))

    return sorted(groups, key=place)


def _printable(path: Path | str) -> str:
    return str(path).encode("utf-8", "replace").decode()
