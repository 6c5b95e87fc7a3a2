"""Find what a template file lacks for some data: predicates, objects of its maps, slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..metric.inputs import ColumnNames, find_columns
from ..metric.rows import Rows
from ..metric.slots import IncompleteTemplate, Key, without_slot
from ..metric.templates import Templates
from ..scoring.windows import WINDOW_BYTES, WINDOW_ROWS
from ..storage import ShardReader, resolve_inputs
from ..system.formats import TEMPLATES_SCHEMA as SCHEMA
from .document import CheckReport, CoverageBlocks, WithoutSlotLine


@dataclass
class Coverage:
    """Number of facts by the template that they use.

    ``missing``: by predicate that the file does not have. ``missing_values``: by (predicate, object) that a per-object
    map does not have. ``used``: by template.
    """

    rows: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    facts: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    missing_values: Counter[tuple[str, str]] = field(default_factory=Counter)
    used: Counter[Key] = field(default_factory=Counter)

    def add(self, rows: Rows, templates: Templates) -> None:
        """Count a window. Rows with an error are counted as errors, and those of their facts that could be read."""
        self.rows += len(rows)
        self.errors.update(rows.errors.values())
        counts = np.bincount(rows.triples.ids, minlength=len(rows.triples.distinct)).tolist()
        for triple, count in zip(rows.triples.distinct, counts, strict=True):
            self.facts += count
            found = templates.lookup(triple)
            if not found.backoff:
                self.used[found.predicate, found.object] += count
            elif found.object is not None:
                self.missing_values[found.predicate, found.object] += count
            else:
                self.missing[triple.predicate] += count

    def report(self, templates: Templates) -> CoverageBlocks:
        """The blocks ``rows``, ``facts``, ``missing``, ``missing_values``, ``without_slot`` and ``unused``; each part
        with its ``facts`` and their ``share`` of all."""
        backoff = self.missing.total() + self.missing_values.total()
        used = {predicate for predicate, _ in self.used}
        return {
            "rows": {"in": self.rows, "errors": dict(self.errors.most_common())},
            "facts": {
                "all": self.facts,
                "template": self.facts - backoff,
                "backoff": backoff,
                "share": self._share(backoff),
            },
            "missing": [
                {"predicate": name, "facts": n, "share": self._share(n)} for name, n in self.missing.most_common()
            ],
            "missing_values": [
                {"predicate": name, "object": value, "facts": n, "share": self._share(n)}
                for (name, value), n in self.missing_values.most_common()
            ],
            "without_slot": [self._without_slot(one) for one in without_slot(templates)],
            "unused": sorted((templates.plain.keys() | templates.by_object.keys()) - used),
        }

    def _without_slot(self, found: IncompleteTemplate) -> WithoutSlotLine:
        predicate, value = found.key
        facts = self.used[found.key]
        line: WithoutSlotLine = {
            "predicate": predicate,
            "template": found.template,
            "slots": list(found.slots),
            "facts": facts,
            "share": self._share(facts),
        }
        if value is not None:
            line["object"] = value
        return line

    def _share(self, facts: int) -> float:
        return round(facts / self.facts, 6) if self.facts else 0.0


def review(templates: Templates, inputs: Sequence[str], names: ColumnNames) -> CheckReport:
    """Check templates against data; the JSON of ``scorer templates check``.

    Raises:
        InputError, ShardError, ColumnError: as a run would.
    """
    coverage = Coverage()
    plain = names.inputs()
    with ShardReader() as reader:
        for file in resolve_inputs(list(inputs)):
            columns = find_columns(reader.probe(file.uri).schema, plain).with_triples("templates are for triples")
            wanted = list(columns.needed)
            for table in reader.windows(file.uri, max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES, columns=wanted):
                coverage.add(columns.rows(table), templates)
    predicates = len(templates.plain) + len(templates.by_object)
    return {
        "schema": SCHEMA,
        "templates": {"sha256": templates.sha256, "predicates": predicates},
        **coverage.report(templates),
    }
