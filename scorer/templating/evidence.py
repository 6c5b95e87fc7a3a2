"""Templates whose facts fail far more often than those of other templates, by the rule of
:mod:`scorer.stats.failing`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from ..metric.inputs import one_array
from ..metric.rows import Rows
from ..metric.slots import Key, all_templates
from ..metric.templates import Templates, written
from ..scoring.output_columns import omitted_facts
from ..stats.failing import looks_wrong
from ..stats.intervals import wilson
from .document import FailingLine

EXAMPLES = 3


@dataclass
class Evidence:
    """For each template, the number of its facts that were checked and that failed, and the sum of their P(entailment).

    ``examples``: by template, the failed facts with the lowest entailment, with their texts.
    """

    templates: Templates
    rows: int = 0
    facts: dict[Key, int] = field(default_factory=dict)
    failed: dict[Key, int] = field(default_factory=dict)
    entailment: dict[Key, float] = field(default_factory=dict)
    examples: dict[Key, list[tuple[float, str, str]]] = field(default_factory=dict)

    def add(self, rows: Rows, table: pa.Table, prefix: str = "") -> None:
        """Add a scored window. Facts that were not checked, and facts by backoff, are left out.

        Raises:
            ColumnError: a result column has another type, or another number of facts than the row.
        """
        entailment, omitted = _facts_of(rows, table, prefix)
        self.rows += len(rows)
        keys, group_of_triple = self._groups(rows)
        ids = rows.triples.ids
        groups = group_of_triple[ids]
        seen = (groups >= 0) & ~np.isnan(entailment)
        counts = np.bincount(groups[seen], minlength=len(keys))
        failures = np.bincount(groups[seen & omitted], minlength=len(keys))
        sums = np.bincount(groups[seen], weights=entailment[seen], minlength=len(keys))
        for g, key in enumerate(keys):
            self.facts[key] = self.facts.get(key, 0) + int(counts[g])
            self.failed[key] = self.failed.get(key, 0) + int(failures[g])
            self.entailment[key] = self.entailment.get(key, 0.0) + float(sums[g])
        self._keep_examples(rows, keys, groups, entailment, np.flatnonzero(seen & omitted))

    @property
    def all_facts(self) -> int:
        """Number of facts that were checked."""
        return sum(self.facts.values())

    @property
    def all_failed(self) -> int:
        """Number of facts whose check failed."""
        return sum(self.failed.values())

    @property
    def rate(self) -> float | None:
        """Share of checked facts that failed; ``None`` where none was checked."""
        return round(self.all_failed / self.all_facts, 4) if self.all_facts else None

    def failing(self) -> list[FailingLine]:
        """The templates that fail too often, those with the most failures first."""
        n, failed = self.all_facts, self.all_failed
        lines = [line for key in self.facts if (line := self._line(key, n, failed)) is not None]
        return sorted(lines, key=lambda line: -line["failed"])

    def _line(self, key: Key, all_facts: int, all_failed: int) -> FailingLine | None:
        n, failed = self.facts[key], self.failed[key]
        others, others_failed = all_facts - n, all_failed - failed
        if not looks_wrong(failed, n, others_failed, others):
            return None
        pattern = dict(all_templates(self.templates))[key]
        line: FailingLine = {
            "predicate": key[0],
            "template": written(pattern),
            "facts": n,
            "failed": failed,
            "rate": round(failed / n, 4),
            "interval": [round(bound, 4) for bound in wilson(failed, n)],
            "others_rate": round(others_failed / others, 4),
            "mean_entailment": round(self.entailment[key] / n, 4),
            "examples": [
                {"entailment": round(value, 4), "fact": fact, "text": text}
                for value, fact, text in self.examples.get(key, [])
            ],
        }
        if key[1] is not None:
            line["object"] = key[1]
        return line

    def _groups(self, rows: Rows) -> tuple[list[Key], npt.NDArray[np.int64]]:
        """The templates of a window, and which one each distinct triple has, -1 for none."""
        places: dict[Key, int] = {}
        groups = np.full(len(rows.triples.distinct), -1, np.int64)
        for t, triple in enumerate(rows.triples.distinct):
            found = self.templates.lookup(triple)
            if not found.backoff:
                groups[t] = places.setdefault((found.predicate, found.object), len(places))
        return list(places), groups

    def _keep_examples(
        self,
        rows: Rows,
        keys: list[Key],
        groups: npt.NDArray[np.int64],
        entailment: npt.NDArray[np.float64],
        failed: npt.NDArray[np.int64],
    ) -> None:
        order = failed[np.lexsort((entailment[failed], groups[failed]))]
        starts = np.flatnonzero(np.diff(groups[order], prepend=-2))
        for start in starts.tolist():
            chosen = order[start : start + EXAMPLES]
            chosen = chosen[groups[chosen] == groups[order[start]]]
            key = keys[int(groups[order[start]])]
            held = self.examples.setdefault(key, [])
            for fact in chosen.tolist():
                row = int(np.searchsorted(rows.triples.offsets, fact, side="right")) - 1
                filled = self.templates.fill(rows.triples.distinct[int(rows.triples.ids[fact])]).text
                held.append((float(entailment[fact]), filled, rows.text_of(row) or ""))
            self.examples[key] = sorted(set(held))[:EXAMPLES]


def _facts_of(rows: Rows, table: pa.Table, prefix: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """P(entailment) of each fact of a window (NaN if not checked), and whether it is labelled omitted.

    float64 and bool, *Shape:* (facts,) each.
    """
    lengths = rows.triples.lengths
    column = _lists(table, prefix + "fact_entailment", pa.types.is_floating)
    there = pc.is_valid(column).to_numpy(zero_copy_only=False) & (lengths > 0)
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    if (sizes[there] != lengths[there]).any():
        row = int(np.flatnonzero(there & (sizes != lengths))[0])
        raise ColumnError(
            f"row {row} of a window has {lengths[row]} facts but {sizes[row]} values in fact_entailment, so these are "
            "not the facts that were scored; name their column with --triples-column or --mr-column"
        )
    entailment = np.full(len(rows.triples.ids), np.nan)
    values = pc.list_flatten(column.filter(pa.array(there))).cast(pa.float64()).to_numpy(zero_copy_only=False)
    entailment[np.repeat(there, lengths)] = values
    omitted = _lists(table, prefix + "omitted", pa.types.is_integer)
    return entailment, omitted_facts(omitted, rows.triples.offsets)


def _lists(table: pa.Table, name: str, fits: Callable[[pa.DataType], bool]) -> pa.Array:
    column = one_array(table, name)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)) or not fits(column.type.value_type):
        raise ColumnError(f"column {name!r} is {column.type}, but a run writes another type; pass the run's --prefix")
    return column


def has_evidence(names: Iterable[str], prefix: str = "") -> bool:
    """Whether a table is a run's output."""
    return {prefix + "omitted", prefix + "fact_entailment"} <= set(names)
