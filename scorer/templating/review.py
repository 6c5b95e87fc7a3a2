"""``scorer templates check``: coverage from all rows, and failing templates from scored rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..metric.inputs import ColumnNames, find_columns
from ..metric.templates import Templates
from ..scoring.output_files import OneSignature
from ..scoring.signature import Signature
from ..system.formats import TEMPLATES_SCHEMA as SCHEMA
from .check import Coverage, read_rows
from .document import CheckReport, EvidenceBlock
from .evidence import Evidence, has_evidence

SAMPLE = 2000
"""Rows that are scored by default when a bundle is given."""


class TableScorer(Protocol):
    """Scores a table, as :class:`scorer.scoring.scorer.Scorer` does with ``keep=()``."""

    @property
    def signature(self) -> str: ...

    def score_table(self, table: pa.Table) -> pa.Table: ...


def review(
    templates: Templates,
    inputs: Sequence[str],
    names: ColumnNames,
    scorer: TableScorer | None = None,
    *,
    sample: int = SAMPLE,
    seed: int = 0,
    note: Callable[[str], None] = lambda message: None,
) -> CheckReport:
    """Check templates against data; the JSON of ``scorer templates check``.

    Args:
        scorer: scores ``sample`` rows, drawn with equal probability, to find failing templates. Without one, they are
            found from the columns ``omitted`` and ``fact_entailment``, if a run with these templates wrote them.
        note: called with the reason if failing templates cannot be found.

    Raises:
        ScorerError: data that cannot be read, files of different signatures.
    """
    coverage, evidence = Coverage(), Evidence(templates)
    drawn = _Sample(sample, seed)
    signatures = OneSignature("check against one of them")
    refused: str | None = None
    for uri, rows, table in read_rows(inputs, names):
        coverage.add(rows, templates)
        if scorer is not None:
            drawn.add(table)
            continue
        found = Signature.of_footer(table.schema.metadata)
        signatures.add(uri, found)
        refused = _unfit(table, names.prefix, found, templates)
        if refused is None:
            evidence.add(rows, table, names.prefix)
    if scorer is not None and drawn.table is not None:
        columns = find_columns(drawn.table.schema, names.inputs())
        evidence.add(columns.rows(drawn.table), scorer.score_table(drawn.table))
    elif refused is not None:
        note(refused)
    shown: EvidenceBlock | None = None
    if evidence.rows:
        shown = {
            "from": "bundle" if scorer is not None else "data",
            "signature": scorer.signature if scorer is not None else signatures.signature.line,
            "rows": evidence.rows,
            "facts": evidence.all_facts,
            "failed": evidence.all_failed,
            "rate": evidence.rate,
        }
    return {
        "schema": SCHEMA,
        "templates": {
            "sha256": templates.sha256,
            "predicates": len(templates.plain) + len(templates.by_object),
        },
        **coverage.report(templates),
        "evidence": shown,
        "failing": evidence.failing() if evidence.rows else [],
    }


class _Sample:
    """A random sample of the rows of a stream of tables, each with the same probability, in their order."""

    def __init__(self, size: int, seed: int) -> None:
        self.table: pa.Table | None = None
        self._size = size
        self._rng = np.random.default_rng(seed)
        self._lots: npt.NDArray[np.float64] = np.empty(0)

    def add(self, table: pa.Table) -> None:
        """Draw a random number for every row; the rows with the lowest numbers are kept."""
        table = table.replace_schema_metadata(None)
        lots = np.concatenate([self._lots, self._rng.random(len(table))])
        if self.table is not None:
            table = pa.concat_tables([self.table, table], promote_options="permissive")
        kept = np.sort(np.argsort(lots, kind="stable")[: self._size])
        self.table, self._lots = table.take(kept), lots[kept]


def _unfit(table: pa.Table, prefix: str, signature: Signature, templates: Templates) -> str | None:
    """Why a table cannot show which of these templates fail, or ``None`` if it can."""
    if not has_evidence(table.schema.names, prefix):
        return "no evidence of failing templates: the data is not a run's output; pass --bundle to score a sample"
    scored_with = signature.parts.get("templates", "") if signature.line else ""
    if not templates.is_identified_by(scored_with):
        return (
            f"no evidence of failing templates: the data was scored with other templates "
            f"({scored_with[:12] or 'unknown'}, these are {templates.sha256[:12]}); pass --bundle to score a sample"
        )
    return None


def names_of(
    plan: ColumnNames, text: str | None, triples: str | None, mr: str | None, prefix: str | None
) -> ColumnNames:
    """The columns that a run used, unless options name others."""
    return replace(
        plan,
        text=text or plan.text,
        triples=triples or (plan.triples if mr is None else None),
        facts=None if triples or mr else plan.facts,
        mr=mr or (plan.mr if triples is None else None),
        prefix=plan.prefix if prefix is None else prefix,
    )
