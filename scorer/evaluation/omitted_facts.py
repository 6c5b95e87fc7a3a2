"""The facts that texts omit, in words, for rows of an output: a sentence that says several facts once, and whether the
text says them wrongly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..metric import ColumnNames
from ..metric.fact_templates import Templates
from ..metric.facts import from_arrow
from ..metric.inputs import SELECTED, FactForm, find_facts, holders_of, read_facts, read_selections
from ..metric.joining import join
from ..scoring.outputs import Output

SEPARATOR = "; "


def find_omissible_facts(schema: pa.Schema, columns: ColumnNames) -> tuple[str, FactForm] | None:
    """The column of the facts that omissions are positions of, and its form; ``None`` where it was not kept, or there
    are no omissions."""
    try:
        column, form = find_facts(schema, columns)
    except ColumnError:
        return None
    return (column, form) if form != "document" and columns.output("omitted") in schema.names else None


@dataclass(frozen=True)
class OmittedFacts:
    """The omitted facts of rows, in words."""

    output: Output
    """The output that has the rows."""
    facts: tuple[str, FactForm]
    """The column of the facts, and its form."""
    templates: Templates
    """Templates of the sentences."""

    @classmethod
    def of(cls, output: Output) -> OmittedFacts | None:
        """``None`` where the output has not kept the facts, or has no omissions."""
        facts = find_omissible_facts(output.schema, output.columns)
        if facts is None:
            return None
        templates, _ = output.find_templates()
        return cls(output, facts, templates if templates is not None else Templates())

    @property
    def needed(self) -> list[str]:
        """The columns to read, as far as the output has them."""
        output, columns = self.output, self.output.columns
        names = [columns.output("omitted"), columns.output("contradicted"), SELECTED, output.marks]
        for name in (self.facts[0], columns.subject or ""):
            names += holders_of(output.schema, name)
        return [name for name in dict.fromkeys(names) if name in output.names]

    def worded(self, table: pa.Table) -> pa.Array:
        """The omitted facts of each row, null where there are none. string, *Shape:* (rows,)."""
        columns = self.output.columns
        parsed = read_facts(self.output.with_marks(table), *self.facts, columns.subject)
        rows = from_arrow(parsed, pa.nulls(len(table), pa.string()), read_selections(table))
        triples = join(rows, self.templates, self.output.optional).triples
        words = [self.templates.fill(triple).text for triple in triples.distinct]
        said_at = triples.spread(np.arange(len(triples.ids))).tolist()
        omitted, wrong = (_lists(table, columns.output(name)) for name in ("omitted", "contradicted"))
        worded: list[str | None] = []
        for (first, after), positions, said_wrongly in zip(
            pairwise(parsed.offsets.tolist()), omitted, wrong, strict=True
        ):
            row_codes = said_at[first:after]
            marks = {row_codes[i]: i in (said_wrongly or ()) for i in positions or () if 0 <= i < len(row_codes)}
            facts = [words[triples.ids[at]] + (" (contradicted)" if is_wrong else "") for at, is_wrong in marks.items()]
            worded.append(SEPARATOR.join(facts) or None)
        return pa.array(worded, pa.string())


def _lists(table: pa.Table, name: str) -> list[Any]:
    return table[name].to_pylist() if name in table.schema.names else [None] * len(table)
