"""The steps of an audit: open the outputs, scan them, count, compare and judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ColumnError, UsageError
from ..scoring.outputs import Output, open_labels
from ..storage.finished_output import locations_of, refuse_unequal
from ..storage.location import Location, resolved
from ..system.codec import utc_now
from . import AuditOptions, findings, gates
from .database import Database, Grouping
from .document import Baseline, Document, GroupFigures, HistoryRow, OptionsShown, RowCounts
from .examples import RowReader, compare_rows, rows_of_finding, worst_rows
from .figures import RunRates, add_new_rows, compare_groups, compare_runs, group_figures
from .gate_rules import load_gates
from .headline import headline
from .ranking import answer
from .scan import ScannedRun, scan_output
from .suspect_templates import template_findings

DEFAULT = "system"
"""Column of the groups without ``--by``, if it exists."""
SHOWN_FROM = 1.2
"""A design effect above this is reported."""
_MOST_WITH_ROWS = 6
"""Findings that have rows."""
Figures = Mapping[Grouping, list[GroupFigures]]


class DocumentBuilder:
    """Two outputs in, one document out; see :func:`scorer.audit.audit`."""

    def __init__(
        self,
        out: Location | Sequence[Location],
        options: AuditOptions,
        history: Sequence[HistoryRow] | None = None,
    ) -> None:
        self.options, self.history = options, history
        self.output = open_labels(*locations_of(out), allow_partial=options.allow_partial)
        earlier = locations_of(options.baseline or ())
        self.earlier = open_labels(*earlier, allow_partial=options.allow_partial) if earlier else None
        self.rules = load_gates(options.gates, self.output.names, self.earlier is not None)
        self.baseline = self._baseline(self.earlier) if self.earlier is not None else None
        self.by = self._groupings()
        self.groupings = list(dict.fromkeys([(), *self.by, *(rule.grouping for rule in self.rules)]))
        self.templates, template_file = self.output.find_templates()
        self.template_file = _printable(template_file) if template_file is not None else None

    def _baseline(self, earlier: Output) -> Baseline:
        if {*map(resolved, earlier.outs)} & {*map(resolved, self.output.outs)}:
            raise UsageError(f"--baseline {earlier.name} is the output itself; pass the output of an earlier run")
        differs = [str(change) for change in earlier.full_signature.changes_to(self.output.full_signature)]
        if differs and not self.options.across_signatures:
            raise UsageError(
                f"{self.output.name} was scored differently from {earlier.name} ({'; '.join(differs)}); a "
                "difference may come from the data or from the scoring; score the baseline's data again with this "
                "model, templates and program, begin a new series without --baseline (docs/nightly.md), or pass "
                "--across-signatures"
            )
        refuse_unequal(self.output.coverage, earlier.coverage, self.options.allow_partial)
        return Baseline(
            out=_printable(earlier.name),
            partial=earlier.coverage.reason,
            finished=earlier.summary.finished,
            signature=earlier.signature,
            same_signature=not differs,
            differs=differs,
            rows=len(earlier),
        )

    def _groupings(self) -> list[Grouping]:
        names = self.output.names
        for grouping in self.options.by:
            missing = [column for column in grouping if column not in names]
            if missing or not grouping:
                problem = f"no column {missing[0]!r}" if missing else "no column is named"
                raise ColumnError(f"--by: {problem}; the columns are {', '.join(names)}")
        default: list[Grouping] = [(DEFAULT,)] if DEFAULT in names else []
        return list(dict.fromkeys(self.options.by)) or default

    def document(self) -> Document:
        """Read, count, compare and judge; all figures are of one run."""
        with self.output.unchanged(), (self.earlier or self.output).unchanged(), Database(self.groupings) as database:
            return self._judge(database)

    def _judge(self, database: Database) -> Document:
        run = scan_output(self.output, database, "now")
        before = scan_output(self.earlier, database, "was") if self.earlier is not None else None
        rates = RunRates(run)
        figures = self._figures(rates, before)
        all_rows, first = figures[()][0], self.by[0] if self.by else ()
        shown = [all_rows, *(group for grouping in self.by for group in _ranked(figures[grouping]))]
        columns = list(dict.fromkeys(column for grouping in self.groupings for column in grouping))
        reader = RowReader(run, columns, self.templates)
        changes = worse = None
        if before is not None and all_rows.change is not None:
            changes, worse = compare_rows(before, reader, all_rows.change, self.options.worst)
        judged = gates.evaluate(self.rules, figures.__getitem__, self.output.sides, self._nightly(figures))
        checked = gates.checked(judged, self.options.require_gates)
        statuses = {gate.status for gate in judged}
        has_failed = "fail" in statuses or (checked.nothing_checked and checked.required)
        other_findings = template_findings(run, first, all_rows, self.templates)
        other_findings += findings.bundle_findings(self.output)
        gate_groups = [
            group for grouping in self.groupings if grouping not in [(), *self.by] for group in figures[grouping]
        ]
        repeats, copies = findings.repeated_rows(run, before, first)
        other_findings += copies
        reported = findings.all_findings(judged, [*shown, *gate_groups], self.baseline, changes, other_findings)
        if before is not None:
            self._add_example_rows(reported, before, reader)
        first_line = (
            answer(rates, first, figures[first], reported) if not (judged or checked.required) and first else None
        )
        bundle, templates = findings.scored_with(self.output.signature, self.template_file)
        summary = self.output.summary
        return Document(
            out=_printable(self.output.name),
            audited=utc_now(),
            finished=summary.finished,
            partial=self.output.coverage.reason,
            status="fail" if has_failed else "warn" if "warn" in statuses else "pass",
            headline=headline(shown, reported, checked, first_line.sentence if first_line is not None else None),
            checked=checked,
            signature=self.output.signature,
            bundle=bundle,
            templates=templates,
            device=summary.device.name or summary.device.kind,
            versions=dict(summary.versions),
            options=OptionsShown(by=[list(grouping) for grouping in self.by]),
            rows=RowCounts(all_rows.rows, all_rows.scored, all_rows.reused, all_rows.errors, all_rows.notes),
            baseline=self.baseline,
            baseline_changes=changes,
            findings=reported,
            gates=judged,
            groups=shown,
            worst=worst_rows(reader, self.options.worst),
            worse=worse,
            comparison=compare_groups(rates, first, figures[first], self.options.compare),
            repeated=repeats,
            answer=first_line.title if first_line is not None else None,
            notes=list(self._notes(run, all_rows)),
        )

    def _figures(self, current: RunRates, before: ScannedRun | None) -> Figures:
        figures = {grouping: group_figures(current, grouping) for grouping in self.groupings}
        sentences = self.templates.sentences_of(current.run.predicates) if self.templates is not None else {}
        for entry in (entry for groups in figures.values() for group in groups for entry in group.predicates):
            entry.sentence = sentences.get(entry.predicate)
        if before is not None:
            compare_runs(RunRates(before), current, figures, self.by)
        add_new_rows(current, figures, before is not None)
        return figures

    def _nightly(self, figures: Figures) -> gates.NightlyCounts | None:
        """New rows of the nights of the history; ``None`` where no history was given."""
        if self.history is None:
            return None
        groups = [group for grouping_groups in figures.values() for group in grouping_groups]
        finished, strata = self.output.summary.finished, self.by[0] if self.by else ()
        return gates.NightlyCounts.collect(self.history, finished, self.output.signature, groups, strata)

    def _add_example_rows(
        self, all_findings: Sequence[findings.Finding], before: ScannedRun, reader: RowReader
    ) -> None:
        """Add rows to read to the first findings about groups that got worse."""
        changed = [finding for finding in all_findings if finding.kind == "changed"] if self.options.worst else []
        of_groups = [finding for finding in changed if finding.group]
        for finding in (of_groups or changed)[
            :_MOST_WITH_ROWS
        ]:  # findings of the whole output would show the same rows
            finding.rows = rows_of_finding(before, reader, finding)

    def _notes(self, run: ScannedRun, all_rows: GroupFigures) -> Iterator[str]:
        """Missing figures with the reasons, and the number of independent rows that the rows are worth."""
        if not len(run):
            yield "the output has no rows"
        if self.output.columns.document is not None:
            yield "texts were checked against documents, so there are no figures of omissions and facts"
        elif run.facts is None:
            yield "figures by predicate are missing: the run did not keep the facts (--keep)"
        elif self.output.sides == "hallucination":
            yield "omissions were not checked (--checks hallucination): their rates are null"
        if self.output.sides == "omission":
            yield "hallucinations were not checked (--checks omission): their rates are null"
        if self.templates is None:
            yield "facts are shown without templates: the template file is not where the run found it, or has changed"
        if (effect := all_rows.design_effects["not_ok_rate"]) > SHOWN_FROM:
            rows = f"{all_rows.rows / effect:,.0f} independent rows would (design effect {effect:.1f})"
            yield f"rows share inputs or are duplicates; they say as much about the not_OK rate as {rows}"
        for key in filter(self.output.schema.names.__contains__, self.output.path_keys):
            yield f"the column {key!r} of the files is used, and hides the key {key!r} of their folders"


def _ranked(groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    """By falling not_OK rate; groups without rows last."""

    def rank(group: GroupFigures) -> tuple[Any, ...]:
        value = group.rates["not_ok_rate"].value
        return (value is None, -(value or 0.0), *((v is None, v or "") for v in group.group.values()))

    return sorted(groups, key=rank)


def _printable(path: Path | str) -> str:
    return str(path).encode("utf-8", "replace").decode()
