"""The challenge set: right texts, the same texts with one change, and the figures of a bundle on them.

Rows with one value of ``pair`` belong together, and ``variant`` tells them apart:

- ``base``: a text that says all and only the facts
- ``edited``: the text with one change
- ``reordered``: the base text with its facts in another order
- ``extended``: the text with three more facts about something else

Sensitivity is the share of wrong texts with any error label, specificity the share of right base and edited texts that
are OK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..inference.bundle import Contradiction
from ..metric.verdict import FINE
from ..scoring.output_columns import fine_codes, numbers
from ..scoring.scorer import Scorer
from ..stats.intervals import Rate, combined, rate
from ..stats.paired import pairs_of
from ..stats.significance import holm, p_of_interval
from .label_figures import Codes, Floats, Indices, Mask

_EMBEDDED = Path(__file__).resolve().parents[1] / "embedded"
CHALLENGE, TEMPLATES = _EMBEDDED / "challenge.parquet", _EMBEDDED / "challenge.json"
ROUNDING = 1e-3
"""A probability that rises by less than this has not risen: batches may differ by as much."""
_WINDOW = 512
_HALLUCINATION = FINE.index("hallucination")


@dataclass(frozen=True)
class Answers:
    """Answers to the rows of the set. *Shape:* (rows,) each."""

    fine: Codes
    """FINE label; int8, -1 for an error."""
    fact: Floats
    """P(text → fact) of the fact that the row's change is about; float64, NaN where not known."""
    text: Floats
    """P(facts → text); float64, NaN where not known."""


@dataclass(frozen=True)
class KindResult:
    """Figures of one kind of change."""

    kind: str
    """Name of the kind."""
    about: str
    """Description of the change."""
    expected: str
    """Gold label of the edited texts; ``not_OK`` where either side counts as right."""
    right: Rate
    """Share of the edited texts that get the expected label."""
    base: Rate
    """Share of the base texts that are OK."""
    pairs: Rate
    """Share of the pairs in which both texts are right."""
    flagged: Rate
    """Share of the edited texts with any error label."""
    p: float | None
    """p-value of no difference, Holm-corrected over the kinds: wrong texts are flagged as often as base texts, or right
    texts pass as often as base texts."""


@dataclass(frozen=True)
class Check:
    """A property that must hold between two rows."""

    name: str
    """The property, as a short sentence."""
    about: str
    """The values that are compared."""
    broken: Rate
    """Share of pairs in which the property does not hold."""
    largest: float | None
    """Largest change of a probability that should not have changed; ``None`` without such pairs."""


@dataclass(frozen=True)
class ChallengeResult:
    """Figures of one metric on the challenge set."""

    metric: str
    """Name of the metric."""
    signature: str
    """Signature of the metric."""
    revision: int
    """Revision of the set."""
    pairs: int
    """Pairs of a base text and an edited text."""
    rows: int
    """Distinct texts that were judged."""
    errors: int
    """Texts without a label; they count as flagged."""
    score: float
    """Balanced accuracy: the mean over kinds of the mean of ``right`` and ``base``."""
    low: float
    """Lower limit of the 95 % interval of ``score``."""
    high: float
    """Upper limit of the 95 % interval of ``score``."""
    sensitivity: Rate
    """Share of the wrong texts with any error label."""
    specificity: Rate
    """Share of the right texts that are OK."""
    kinds: tuple[KindResult, ...]
    """Figures of each kind of change."""
    checks: tuple[Check, ...]
    """Properties that must hold between rows."""
    contradiction: Contradiction | None = None
    """The bundle's threshold with its rates, as measured at export."""


def read_challenge(path: Path = CHALLENGE) -> pa.Table:
    """The rows of the set.

    The columns are ``pair``, ``variant``, ``kind``, ``change``, ``domain``, ``gold_fine``, ``triples``, ``text``, and
    ``fact``, the position of the fact that the change is about (null where it is about none or several)."""
    return pq.read_table(path)


def read_templates() -> dict[str, str]:
    """The templates of all facts of the set, so that a bundle is tested and not a template file."""
    return msgspec.json.decode(TEMPLATES.read_bytes(), type=dict[str, str])


def judge(
    scorer: Scorer, table: pa.Table, progress: Callable[[int, int], None] = lambda done, rows: None
) -> tuple[Answers, int]:
    """Score the rows of the set, equal ones once, and return the answers and the number of distinct rows.

    Args:
        progress: called with the number of rows judged so far, and the number of all rows.
    """
    distinct: dict[tuple[str, str], int] = {}
    rows = zip(map(str, table["triples"].to_pylist()), table["text"].to_pylist(), strict=True)
    codes = np.array([distinct.setdefault(row, len(distinct)) for row in rows])
    distinct_rows = table.take(np.unique(codes, return_index=True)[1]).select(["triples", "text"])
    scored: list[pa.Table] = []
    for window in scorer.score_batches(
        distinct_rows.slice(start, _WINDOW) for start in range(0, len(distinct_rows), _WINDOW)
    ):
        scored.append(window)
        progress(sum(map(len, scored)), len(distinct_rows))
    table_scored = pa.concat_tables(scored, promote_options="permissive").combine_chunks().take(codes)
    columns = {name: table_scored[name].combine_chunks() for name in ("fine", "fact_entailment", "text_entailment")}
    return answers_of(columns, table), len(distinct_rows)


def answers_of(columns: Mapping[str, pa.Array], table: pa.Table) -> Answers:
    """Answers from the columns ``fine``, ``fact_entailment`` and ``text_entailment`` of the rows of ``table``."""
    fact = [
        np.nan if position is None or not probabilities or probabilities[position] is None else probabilities[position]
        for position, probabilities in zip(
            table["fact"].to_pylist(), columns["fact_entailment"].to_pylist(), strict=True
        )
    ]
    text = numbers(columns["text_entailment"], "text_entailment")
    return Answers(fine_codes(columns["fine"], "fine"), np.array(fact, np.float64), text)


def measure(table: pa.Table, answers: Answers, *, metric: str, signature: str, rows: int) -> ChallengeResult:
    """Figures of a metric on the set, or on some pairs of it.

    Args:
        table: rows of the set.
        answers: the answers of the metric to these rows.
        metric, signature: name and signature of the metric.
        rows: number of distinct rows.
    """
    columns = {name: np.array(table[name].to_pylist()) for name in ("pair", "variant", "kind", "gold_fine", "change")}
    variants = {name: np.flatnonzero(columns["variant"] == name) for name in np.unique(columns["variant"])}
    base, edited = variants["base"], variants["edited"]
    gold = np.array([FINE.index(label) for label in columns["gold_fine"][edited]])
    kinds = []
    for name in dict.fromkeys(columns["kind"][base].tolist()):
        of_kind = columns["kind"][base] == name
        about = str(columns["change"][base[of_kind]][0])
        kinds.append(
            _kind(name, about, int(gold[of_kind][0]), answers.fine[base[of_kind]], answers.fine[edited[of_kind]])
        )
    kinds = [replace(kind, p=p) for kind, p in zip(kinds, holm([kind.p for kind in kinds]), strict=True)]
    shares = [share for kind in kinds for share in (kind.right, kind.base)]
    score = float(np.mean([share.value or 0.0 for share in shares]))
    # Wilson's interval of each share, as if the two of a kind were of other pairs.
    low, high = combined(score, [(1 / len(shares), share) for share in shares])
    return ChallengeResult(
        metric=metric,
        signature=signature,
        revision=int(table.schema.metadata[b"revision"]),
        pairs=len(base),
        rows=rows,
        errors=int((answers.fine < 0).sum()),
        score=score,
        low=low,
        high=high,
        sensitivity=_share(answers.fine[edited[gold != 0]] != 0),
        specificity=_share(answers.fine[np.concatenate([base, edited[gold == 0]])] == 0),
        kinds=tuple(kinds),
        checks=tuple(_checks(columns, variants, answers)),
    )


def _share(hits: Mask) -> Rate:
    return rate(int(hits.sum()), len(hits))


def _kind(name: str, about: str, gold: int, base: Codes, edited: Codes) -> KindResult:
    """Figures of one kind of change; its p-value is not yet corrected.

    Args:
        about: description of the change.
        gold: FINE code of the edited texts.
        base: FINE codes of the base texts. *Shape:* (pairs,).
        edited: FINE codes of the edited texts. *Shape:* (pairs,).
    """
    passed, flagged, either = base == 0, edited != 0, FINE[gold] == FINE[-1]
    right = ~flagged if gold == 0 else flagged if either else (edited > 0) & (edited & gold > 0)
    return KindResult(
        kind=name,
        about=about,
        expected="not_OK" if either else FINE[gold],
        right=_share(right),
        base=_share(passed),
        pairs=_share(right & passed),
        flagged=_share(flagged),
        p=_no_difference(right, passed == (gold == 0)),
    )


def _no_difference(edited: Mask, base: Mask) -> float:
    """The p-value of equal shares in the two texts of the pairs (Newcombe's interval). *Shape:* (pairs,) each."""
    pairs = pairs_of(edited, base, np.arange(len(base)))
    difference = (pairs.gained - pairs.lost) / pairs.n
    return p_of_interval(difference, *combined(difference, (), pairs), 0.0)


def _checks(columns: Mapping[str, np.ndarray], variants: Mapping[str, Indices], answers: Answers) -> Iterator[Check]:
    base, edited, kind, pair = variants["base"], variants["edited"], columns["kind"], columns["pair"]
    for name, edited_kind, about, values in (
        ("a removed fact is not entailed more", "omission",
         "P(text → fact) with the fact in the text, and without it", answers.fact),
        ("an added fact is not entailed more", "extra fact",
         "P(facts → text) of the text, and with a fact added to it", answers.text),
    ):  # fmt: skip
        rises = (values[edited] - values[base])[kind[base] == edited_kind]
        rises = rises[~np.isnan(rises)]
        if len(rises):
            yield Check(name, about, _share(rises > ROUNDING), max(0.0, float(rises.max())))
    row_of = {name: dict(zip(pair[rows].tolist(), rows.tolist(), strict=True)) for name, rows in variants.items()}
    unsupported = np.where(answers.fine < 0, -1, answers.fine & _HALLUCINATION)
    for name, variant, about, labels in (
        ("the order of the facts does not matter", "reordered",
         "the label of a text whose facts are given in another order; largest change of P(facts → text)", answers.fine),
        ("irrelevant facts do not matter", "extended",
         "whether a text is a hallucination, with three facts about something else appended to its facts; "
         "largest change of P(facts → text)", unsupported),
    ):  # fmt: skip
        changed_rows = variants.get(variant, np.zeros(0, np.int64))
        original_variants = [
            "edited" if variant == "extended" and kind[row] == "extra fact" else "base" for row in changed_rows
        ]
        original_rows = [
            row_of[original][pair[row]] for original, row in zip(original_variants, changed_rows, strict=True)
        ]
        if original_rows:
            differences = np.abs(answers.text[original_rows] - answers.text[changed_rows])
            differences = differences[~np.isnan(differences)]
            largest = float(differences.max()) if len(differences) else None
            yield Check(name, about, _share(labels[original_rows] != labels[changed_rows]), largest)
