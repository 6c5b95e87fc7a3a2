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
    """One check of a row: what was asked, and the three probabilities (``None`` where the model gave none). ``fact``:
    the position of its fact, of a sentence that says several that of the first. ``tokens``: of the whole pair, special
    tokens included; ``None`` for texts too long to be worth tokenising."""

    check: str
    fact: int | None
    premise: str
    hypothesis: str
    tokens: int | None
    contradiction: float | None
    neutral: float | None
    entailment: float | None
    passed: bool | None


class SentenceEntailment(TypedDict):
    """A sentence: its span in the text, in code points, and P(entailment) of all facts → sentence, ``None`` where the
    model gave no result."""

    start: int
    end: int
    entailment: float | None


@dataclass(frozen=True, repr=False)
class Verdict:
    """The label of one row; fields as the output columns of the same names. A notebook shows it as a table of facts.

    ``facts``: the triples in words. ``checks``: every check with its probabilities. ``sentences``: each as a dictionary
    of ``start``, ``end`` and ``entailment``, ``None`` unless they were asked for. ``said_together``: positions of facts
    that one sentence of the template file says, for each such sentence.
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
    checks: list[CheckResult]
    sentences: list[SentenceEntailment] | None = None
    said_together: list[list[int]] = field(default_factory=list)
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
        """The fields, their checks as dictionaries too: strings, numbers, Booleans, ``None``, lists and dictionaries,
        as JSON has them."""
        return asdict(self)

    def mark(self, position: int) -> str:
        """Whether the text says a fact: ``contradicted``, ``omitted``, or empty where it does or was not asked."""
        if position in (self.contradicted or ()):
            return "contradicted"
        return "omitted" if position in (self.omitted or ()) else ""

    def asked_facts(self) -> list[list[int]]:
        """The positions of facts that are asked about together, in order: mostly of one fact."""
        first = {positions[0]: positions for positions in self.said_together}
        others = {position for positions in self.said_together for position in positions[1:]}
        return [first.get(i, [i]) for i in range(len(self.facts)) if i not in others]


def name_facts(positions: Sequence[int]) -> str:
    """Positions of facts in words: ``fact 3``, ``facts 0–3, 5``."""
    runs = [[positions[0]]]
    for before, position in pairwise(positions):
        runs[-1].append(position) if position == before + 1 else runs.append([position])
    named = ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"facts {named}" if len(positions) > 1 else f"fact {named}"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _html(text: str) -> str:
    return html.escape(visible(text))


_NOT_OF_A_VERDICT = ("reused", "row_key")


def verdicts_of(judged: Judged, max_length: int, columns: ColumnNames) -> list[Verdict]:
    """The verdict of each judged row. *Length:* rows.

    Args:
        max_length: of a pair, in tokens.
        columns: which output columns were asked for.
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
    prepared, answers = judged.prepared, judged.answers
    checks, tokens = prepared.checks, prepared.work.lengths[prepared.work.pairs.inverse]
    scored = answers.status == SCORED
    passed = passes(answers.probabilities, answers.threshold)
    positions = fact_positions(prepared.rows, checks).tolist()
    results: list[list[CheckResult]] = [[] for _ in range(len(prepared.rows))]
    for c, row in enumerate(checks.row.tolist()):
        # A model without a class has no probability of it.
        known = (None if math.isnan(value) else value for value in answers.probabilities[c].tolist())
        contradiction, neutral, entailment = known if scored[c] else (None, None, None)
        # A text that cannot fit whatever it says was not tokenised, and its pair only seems short.
        unknown = answers.status[c] == TOO_LONG and tokens[c] <= max_length
        results[row].append(
            CheckResult(
                KIND_NAMES[checks.kind[c]],
                positions[c] if checks.fact[c] >= 0 else None,
                checks.texts[checks.premise[c]],
                checks.texts[checks.hypothesis[c]],
                None if unknown else int(tokens[c]),
                contradiction,
                neutral,
                entailment,
                bool(passed[c]) if scored[c] else None,
            )
        )
    return results
