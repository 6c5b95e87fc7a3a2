"""Results of the Python interface: the verdict of a row with all of its checks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypedDict

from ..metric import ColumnNames
from ..metric.checks import KIND_NAMES
from ..metric.columns import OUTPUT, fact_positions, output_schema
from ..metric.joining import joint_positions
from ..metric.verdict import passes
from ..status import SCORED, TOO_LONG
from ..system.terminal import visible
from .pipeline import Judged


@dataclass(frozen=True)
class CheckResult:
    """One check of a row, with its three probabilities."""

    check: str
    """Kind of the check: ``omission``, ``hallucination``, ``all_facts`` or ``sentence``."""
    fact: int | None
    """Position of the fact; the first position where one sentence says several facts; ``None`` for other checks."""
    premise: str
    hypothesis: str
    tokens: int | None
    """Tokens of the whole pair, special tokens included; ``None`` for a text that was too long to be tokenised."""
    contradiction: float | None
    """P(contradiction); ``None`` without a prediction, and for a model without this class."""
    neutral: float | None
    """P(neutral), likewise."""
    entailment: float | None
    """P(entailment); ``None`` without a prediction."""
    passed: bool | None
    """Whether the check passed; ``None`` without a prediction."""


class SentenceEntailment(TypedDict):
    """A sentence of a text."""

    start: int
    """First code point in the text."""
    end: int
    """Code point after the last one."""
    entailment: float | None
    """P(entailment) of all facts → sentence; ``None`` without a prediction."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """The label of one row. A notebook shows it as a table of facts.

    Fields without a description are the output columns of the same names.
    """

    fine: str | None
    rough: str | None
    confidence: float | None
    omitted: list[int] | None
    fact_entailment: list[float | None] | None
    text_entailment: float | None
    all_facts_entailment: float | None
    error: str | None
    note: str | None
    facts: list[str]
    """The triples in words."""
    checks: list[CheckResult]
    """Every check with its probabilities."""
    sentences: list[SentenceEntailment] | None = None
    """The sentences of the text; ``None`` unless they are checked."""
    said_together: list[list[int]] = field(default_factory=list)
    """Positions of the facts of each sentence of the template file that says several."""
    contradicted: list[int] | None = None

    def __repr__(self) -> str:
        """The label in one line; the texts are in the fields."""
        label = f"error {self.error}" if self.error else f"{self.fine}, confidence {_decimals(self.confidence)}"
        omitted = f", omitted {self.omitted} of {len(self.facts)} facts" if self.omitted else ""
        omitted += f", contradicted {self.contradicted}" if self.contradicted else ""
        return f"<Verdict {label}{omitted}{f', note {self.note}' if self.note else ''}>"

    def _repr_html_(self) -> str:
        """The label, and the facts with P(entailment) of each, for notebooks; text is escaped."""
        entailment = self.fact_entailment or [None] * len(self.facts)
        rows = "".join(
            f"<tr><td>{_html(self.facts[i])}</td><td>{_decimals(entailment[i])}</td><td>{self.mark(i)}</td></tr>"
            for i, *_ in self.asked_facts()
        )
        text = "" if self.text_entailment is None else f"<p>all facts → text: {_decimals(self.text_entailment)}</p>"
        head = "<tr><th>fact</th><th>text → fact</th><th></th></tr>"
        return f"<p><b>{_html(repr(self)[9:-1])}</b></p><table>{head}{rows}</table>{text}"

    def __hash__(self) -> int:
        """Equal verdicts have equal hashes: a verdict can be in a set and be the key of a dictionary."""
        return hash((self.fine, self.confidence, self.error, self.note, tuple(self.facts), tuple(self.checks)))

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary of values that JSON has; checks are dictionaries, too."""
        return asdict(self)

    def mark(self, position: int) -> str:
        """The mark of a fact: ``contradicted``, ``omitted``, or empty where the text says it or it was not checked."""
        if position in (self.contradicted or ()):
            return "contradicted"
        return "omitted" if position in (self.omitted or ()) else ""

    def asked_facts(self) -> list[list[int]]:
        """For each omission check, in order, the positions of its facts: one, or those that one sentence says."""
        by_first = {positions[0]: positions for positions in self.said_together}
        later = {position for positions in self.said_together for position in positions[1:]}
        return [by_first.get(i, [i]) for i in range(len(self.facts)) if i not in later]


def name_facts(positions: Sequence[int]) -> str:
    """Positions of facts in words: ``fact 3``, ``facts 0–3, 5``."""
    runs = [[positions[0]]]
    for before, position in pairwise(positions):
        runs[-1].append(position) if position == before + 1 else runs.append([position])
    spans = ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"facts {spans}" if len(positions) > 1 else f"fact {spans}"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _html(text: str) -> str:
    return html.escape(visible(text))


_NOT_OF_A_VERDICT = ("reused", "row_key")


def verdicts_of(judged: Judged, max_length: int, columns: ColumnNames) -> list[Verdict]:
    """The verdict of each judged row. *Length:* rows.

    Args:
        max_length: tokens of the longest pair.
        columns: names and choice of the output columns.
    """
    names = [column.name for column in output_schema(columns)]
    arrays = dict(zip(names, judged.columns(columns), strict=True))
    fields = [name for name in OUTPUT.names if name not in _NOT_OF_A_VERDICT]
    rows, wording = judged.prepared.rows, judged.prepared.checks
    triples, offsets = rows.triples, rows.triples.of_rows.offsets.tolist()
    worded = [wording.texts[wording.facts[i]] for i in triples.spread(triples.ids).tolist()]
    checks = _explain(judged, max_length)
    return [
        Verdict(
            **{name: arrays[name][row].as_py() for name in fields},
            facts=worded[offsets[row] : offsets[row + 1]],
            checks=checks[row],
            sentences=arrays["sentences"][row].as_py() if "sentences" in arrays else None,
            said_together=joint_positions(triples, row),
        )
        for row in range(len(rows))
    ]


def _explain(judged: Judged, max_length: int) -> list[list[CheckResult]]:
    """The checks of each row."""
    prepared, predictions = judged.prepared, judged.predictions
    checks, tokens = prepared.checks, prepared.work.lengths[prepared.work.pairs.inverse]
    scored = predictions.status == SCORED
    passed = passes(predictions.probabilities, predictions.threshold)
    positions = fact_positions(prepared.rows, checks).tolist()
    results: list[list[CheckResult]] = [[] for _ in range(len(prepared.rows))]
    for c, row in enumerate(checks.row.tolist()):
        # A model without a class has no probability of it.
        probabilities = (None if math.isnan(value) else value for value in predictions.probabilities[c].tolist())
        contradiction, neutral, entailment = probabilities if scored[c] else (None, None, None)
        # A text with too many bytes to fit was not tokenised, so that its pair seems short.
        is_uncounted = predictions.status[c] == TOO_LONG and tokens[c] <= max_length
        results[row].append(
            CheckResult(
                KIND_NAMES[checks.kind[c]],
                positions[c] if checks.fact[c] >= 0 else None,
                checks.texts[checks.premise[c]],
                checks.texts[checks.hypothesis[c]],
                None if is_uncounted else int(tokens[c]),
                contradiction,
                neutral,
                entailment,
                bool(passed[c]) if scored[c] else None,
            )
        )
    return results
