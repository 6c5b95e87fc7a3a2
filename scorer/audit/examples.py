"""Single rows to read: the worst rows of each kind, rows with another label, and rows that got worse."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..metric.column_paths import holders_of, one_array
from ..metric.fact_templates import Templates
from ..metric.facts import Rows, from_arrow
from ..metric.inputs import SELECTED, read_facts, read_selections
from ..metric.joining import join
from ..metric.verdict import FINE
from ..scoring.output_columns import value_names, worst_sentence
from ..scoring.outputs import Output, arrow_errors
from . import queries
from .document import BaselineChanges, Change, FactShown, Finding, Flip, Flips, Why, Worse, WorseRow, WorstRow
from .queries import Pair
from .scan import FINE_OF, ScannedRun

MOST_CHARACTERS, MOST_CHARACTERS_OF_PART, MOST_FACTS = 4000, 500, 100
MOST_FLIPS = 1000
ROWS_OF_FINDING = 2
_READ_FOR_FINDING = 8  # of each kind
ID = "id"
"""The column of row names, if there is one."""


@dataclass(frozen=True)
class RowReader:
    """Reads single rows of a run for the report."""

    run: ScannedRun
    """The run."""
    columns: Sequence[str]
    """Columns shown as the row's group."""
    templates: Templates | None
    """Templates of the run, if they are known."""

    def rows(self, kinds: Mapping[int, str]) -> dict[int, WorstRow]:
        """Rows by number in the whole output. ``kinds``: the kind of each row, by number."""
        output = self.run.output
        columns = (
            "row_key",
            "omitted",
            "contradicted",
            "fact_entailment",
            "text_entailment",
            "confidence",
            "error",
            "sentences",
        )
        facts = self.run.facts[0] if self.run.facts is not None else ""
        needed = [*map(output.columns.output, (*columns, "note")), output.marks]
        for name in (output.columns.text, facts, output.columns.subject or ""):
            needed += holders_of(output.schema, name)
        needed += [name for name in (ID, SELECTED, *self.columns) if name in output.names]
        tables = output.rows([*kinds], list(dict.fromkeys(needed)))
        with arrow_errors(output):
            return {row: self._row(row, kind, tables[row]) for row, kind in kinds.items()}

    def _row(self, row: int, kind: str, table: pa.Table) -> WorstRow:
        output = self.run.output
        file, number = place(output, row)

        def value(name: str) -> Any:
            column = output.columns.output(name)
            return table[column][0].as_py() if column in table.schema.names else None

        text = text_of(table, output.columns.text)
        facts = self._facts(table)
        return WorstRow(
            kind=kind,
            id=_name(table, ID),
            file=file,
            row=number,
            row_key=value("row_key").hex(),
            group={column: _name(table, column) for column in self.columns},
            text=None if text is None else text[:MOST_CHARACTERS],
            clipped=len(text or "") > MOST_CHARACTERS or (facts is not None and len(facts.triples.ids) > MOST_FACTS),
            facts=None if facts is None else self._shown(facts, value),
            text_entailment=value("text_entailment"),
            confidence=value("confidence"),
            error=value("error"),
            note=value("note"),
            worst_sentence=worst_sentence(text, value("sentences")) if "hallucination" in kind else None,
        )

    def _facts(self, table: pa.Table) -> Rows | None:
        """The facts of a table's only row, as the run read them; its text is left out."""
        if self.run.facts is None or not holders_of(table.schema, self.run.facts[0]):
            return None
        output = self.run.output
        parsed = read_facts(output.with_marks(table), *self.run.facts, output.columns.subject)
        return None if parsed.errors else from_arrow(parsed, pa.nulls(1, pa.string()), read_selections(table))

    def _shown(self, rows: Rows, value_of: Callable[[str], Any]) -> list[FactShown]:
        triples, templates, entailment = rows.triples, self.templates, value_of("fact_entailment")
        omitted, contradicted = (value_of(name) or () for name in ("omitted", "contradicted"))
        scores = entailment if entailment is not None and len(entailment) == len(triples.ids) else None
        sentences: list[str | None] = [triple.sentence for triple in triples.distinct]
        checked = triples
        if templates is not None:
            checked = join(rows, templates, self.run.output.optional).triples
            sentences = [templates.fill(triple).text for triple in checked.distinct]
        sentence_of_fact = checked.spread(np.arange(len(checked.ids))).tolist()
        facts = []
        for position, (number, sentence_code) in enumerate(
            zip(triples.ids[:MOST_FACTS].tolist(), sentence_of_fact, strict=False)
        ):
            sentence = sentences[checked.ids[sentence_code]]
            subject, predicate, value = (part[:MOST_CHARACTERS_OF_PART] for part in triples.distinct[number])
            facts.append(
                FactShown(subject=subject, predicate=predicate, object=value,
                          sentence=None if sentence is None else sentence[:MOST_CHARACTERS_OF_PART],
                          entailment=None if scores is None else scores[position], omitted=position in omitted,
                          contradicted=position in contradicted, repeats=sentence_code in sentence_of_fact[:position])
            )  # fmt: skip
        return facts


def place(output: Output, row: int) -> tuple[str, int]:
    file, number = output.locate(row)
    return file.encode("utf-8", "replace").decode(), number


def text_of(table: pa.Table, name: str) -> str | None:
    """The text of a table's only row, which may not be valid UTF-8."""
    if not holders_of(table.schema, name):
        return None
    column = one_array(table, name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    raw = column.cast(pa.large_binary())[0].as_py() if not pa.types.is_null(column.type) else None
    return None if raw is None else raw.decode(errors="replace")


def _name(table: pa.Table, name: str) -> str | None:
    """The value of a table's only row as text; ``None`` for lists and structs."""
    try:
        return value_names(one_array(table, name), name)[0] if name in table.schema.names else None
    except ColumnError:
        return None


def worst_rows(reader: RowReader, limit: int) -> list[WorstRow]:
    """The rows of the sample, at most ``limit`` of each kind."""
    kinds = {row: kind for kind, rows in queries.worst(reader.run, limit).items() for row in rows}
    return list(reader.rows(kinds).values())


def compare_rows(before: ScannedRun, reader: RowReader, change: Change, limit: int) -> tuple[BaselineChanges, Worse]:
    """Rows of two matched runs that are in one alone, changed label, or got worse, with at most ``limit`` to read."""
    after = reader.run
    kept_counts, rewritten_counts = queries.kept(after, ())[0], queries.rewritten(after, ())[0]
    labelled, ok, fails = FINE_OF >= 0, queries.OK == FINE_OF, FINE_OF > queries.OK
    flips = []
    for row, high, low, label, label_before in queries.flipped(after, MOST_FLIPS):
        file, number = place(after.output, row)
        key = struct.pack("<QQ", high, low).hex()
        flips.append(Flip(row_key=key, file=file, row=number, before=FINE[label_before], after=FINE[label]))
    changes = BaselineChanges(
        added=change.added,
        removed=change.removed,
        kept=change.kept,
        errors_appeared=int(kept_counts[labelled][:, ~labelled].sum()),
        errors_gone=int(kept_counts[~labelled][:, labelled].sum()),
        flips=Flips(count=change.flips, rows=flips),
    )
    worse = Worse(
        flipped=int(kept_counts[ok][:, fails].sum()),
        rewritten=int(rewritten_counts[ok][:, fails].sum()),
        better=int((kept_counts + rewritten_counts)[fails][:, ok].sum()),
        added_failing=int(queries.moved(after, ())[0][fails].sum()),
        rows=_read(before, reader, queries.failing_now(after, -(-limit // 3), (), 0)),
    )
    return changes, worse


def rows_of_finding(before: ScannedRun, reader: RowReader, finding: Finding) -> list[WorseRow]:
    """Rows of the finding's group that got worse; rows that omit a fact of its predicate come first."""
    groups = reader.run.database.groups
    grouping = next(columns for columns in groups if set(columns) == finding.group.keys())
    code = groups[grouping].groups().index(finding.group)
    rows = _read(before, reader, queries.failing_now(reader.run, _READ_FOR_FINDING, grouping, code))

    def rank(row: WorseRow) -> tuple[bool, bool]:
        omits = any(fact.omitted and fact.predicate == finding.predicate for fact in row.now.facts or ())
        return not omits, row.text_before is None

    return sorted(rows, key=rank)[:ROWS_OF_FINDING]


def _read(before: ScannedRun, reader: RowReader, pairs_by_reason: dict[Why, list[Pair]]) -> list[WorseRow]:
    pairs = [(why, pair) for why, reason_pairs in pairs_by_reason.items() for pair in reason_pairs]
    rows_now = reader.rows({pair.row: FINE[pair.label] for _, pair in pairs})
    name = before.output.columns.text
    earlier = [pair.before for _, pair in pairs if pair.before >= 0]
    with arrow_errors(before.output):
        tables = before.output.rows(earlier, holders_of(before.output.schema, name))
        texts_before = {row: text_of(table, name) for row, table in tables.items()}
    return [
        WorseRow(
            why=why,
            before=FINE[pair.label_before] if pair.label_before >= 0 else None,
            text_before=text[:MOST_CHARACTERS] if (text := texts_before.get(pair.before)) is not None else None,
            now=rows_now[pair.row],
        )
        for why, pair in pairs
    ]
