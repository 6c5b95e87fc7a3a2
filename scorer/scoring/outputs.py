"""Finished outputs with their labels, signature, totals, column names and templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from msgspec.structs import replace

from ..errors import InputError, OutputError, TemplateError
from ..metric import ColumnNames, Sides
from ..metric.columns import MARKS, OUTPUT
from ..metric.fact_templates import Templates
from ..metric.inputs import restore_marks
from ..metric.joining import OptionalFacts
from ..storage.finished_output import FinishedOutput
from ..storage.location import Location
from ..storage.receipts import Counts
from ..storage.run_plan import PLAN, RUN
from ..system.codec import decode
from .settings import Settings, from_plan
from .summary import RunSummary

LABELS = ("fine", "confidence", "omitted", "fact_entailment", "text_entailment", "error", "note", "reused", "row_key")
"""Output columns that an audit reads."""


class Output(FinishedOutput):
    """A finished output, with the records of its run."""

    @property
    def signature(self) -> str:
        """The line of the signature of all files; empty where they have none."""
        return self.full_signature.line

    @property
    def sides(self) -> Sides:
        """Sides of a row that the run checked."""
        checked = self.full_signature.parts.get("checks")
        return checked if checked in ("hallucination", "omission") else "both"

    @cached_property
    def columns(self) -> ColumnNames:
        """The column names in the settings of the run; the default ones where there is no plan.

        Raises:
            OutputError: the plan has other content than a run records.
        """
        recorded = self.settings.get("columns")
        return from_plan(ColumnNames, recorded, f"{self.outs[0]}/{PLAN}") if recorded is not None else ColumnNames()

    @property
    def marks(self) -> str:
        """The column to read with the facts, for :meth:`with_marks`; few files have it."""
        return self.columns.output(MARKS.name)

    def with_marks(self, table: pa.Table) -> pa.Table:
        """A table of rows with their marks, so that facts are read as the run read them; see :func:`.restore_marks`."""
        return restore_marks(table, self.columns)

    @property
    def run_settings(self) -> Settings:
        """The settings of the run.

        Raises:
            OutputError: there is no plan, or it has other content than a run records.
        """
        if not self.settings:
            raise OutputError(f"{self.name} is not an output folder of `scorer run`: it has no readable {PLAN}")
        return from_plan(Settings, dict(self.settings), f"{self.outs[0]}/{PLAN}")

    @property
    def optional(self) -> OptionalFacts:
        """The facts that texts may omit, those of the template file included."""
        pairs = self.full_signature.parts.get("optional")
        if isinstance(pairs, str):  # of a line alone
            pairs = [list(map(unquote, pair.split("="))) for pair in pairs.split(",")]
        return frozenset((pair[0], pair[1]) for pair in pairs or () if isinstance(pair, list) and len(pair) == 2)

    @cached_property
    def summary(self) -> RunSummary:
        """Its ``_run.json``, added up over parts.

        Raises:
            OutputError: one is missing, damaged, or of another version.
        """
        if len(self.runs) < len(self.outs):
            raise OutputError(f"{self.name} is not finished: it has no {RUN}; the same `scorer run` resumes it")
        pairs = zip(self.outs, self.runs, strict=True)
        return total_summary([decode(run, RunSummary, f"{out}/{RUN}") for out, run in pairs])

    def find_templates(self) -> tuple[Templates | None, Path | None]:
        """The templates of the run, ``None`` if they are not found unchanged, and their file, if any.

        The file is the one that the plan names, otherwise that of the bundle. Its templates are returned only if their
        digest is that in the signature.
        """
        digest = str(self.full_signature.parts.get("templates", ""))
        if digest == "none" or self.settings.get("protocol") == "factspotter":  # backoff, which messages use
            return Templates(), None
        recorded, bundle = self.settings.get("templates"), self.settings.get("bundle")
        if isinstance(recorded, str):
            path = Path(recorded)
        elif isinstance(bundle, str):
            from ..inference.bundle import folder_of

            path = folder_of(bundle) / "templates.json"
        else:
            return None, None
        try:
            templates = Templates.load(path)
        except TemplateError:
            return None, None
        return (templates, path) if digest and templates.sha256.startswith(digest) else (None, None)


def open_labels(*outs: Location, allow_partial: bool = False) -> Output:
    """Open the output of a run, or its parts, with totals and all label columns.

    Raises:
        OutputError, InputError: see :meth:`.FinishedOutput.open`; also if there are no totals, they do not agree with
            the files, or a label column is missing.
    """
    output = Output.open(*outs, allow_partial=allow_partial)
    if not output.plans:
        problem = f"has no readable {PLAN}" if Path(str(output.outs[0])).is_dir() else "is not a folder"
        raise OutputError(f"{output.name} is not an output folder of `scorer run`: it {problem}")
    with output.unchanged():
        rows = output.summary.counts.rows.all
        if len(output) != rows:
            raise OutputError(
                f"{output.name}: its files have {len(output):,} rows, its {RUN} says {rows:,}; run `scorer run` again"
            )
        for name in LABELS:
            _check_label(output, output.columns.output(name), OUTPUT.field(name).type)
    return output


def _check_label(output: Output, name: str, expected: pa.DataType) -> None:
    """Refuse a file with missing labels, or with labels of other types than a run writes."""
    for file in output.files:
        if name not in file.schema.names:
            raise InputError(f"{file.uri} has no column {name!r}: some of its labels are missing")
        kind = file.schema.field(name).type
        if _plain(kind) != _plain(expected):
            raise InputError(f"{file.uri}: column {name!r} is {kind}, and a run writes {expected}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type with strings in the usual layout."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def total_summary(summaries: Sequence[RunSummary]) -> RunSummary:
    """The totals of the parts of a run: counts are added up, bounds are the largest."""
    first = summaries[0]
    if len(summaries) == 1:
        return first
    counts = Counts.total([summary.counts for summary in summaries])
    return replace(
        first,
        rows=counts.rows,
        labels=counts.labels,
        facts=counts.facts,
        checks=counts.checks,
        tokens=counts.tokens,
        bound=max((summary.bound for summary in summaries if summary.bound is not None), default=None),
        invariance_error=max(
            (summary.invariance_error for summary in summaries if summary.invariance_error is not None), default=None
        ),
        origins=tuple(dict.fromkeys(origin for summary in summaries for origin in summary.origins)),
        random_weights=any(summary.random_weights for summary in summaries),
        forced=tuple(dict.fromkeys(reason for summary in summaries for reason in summary.forced)),
        finished=max(summary.finished for summary in summaries),
    )


@contextmanager
def arrow_errors(output: FinishedOutput) -> Iterator[None]:
    """Report an output column of a type that a run never writes in one line.

    Raises:
        InputError: Arrow cannot process the column.
    """
    try:
        yield
    except pa.ArrowException as e:
        raise InputError(f"{output.name} has a column of a type that no run writes: {e}") from e
