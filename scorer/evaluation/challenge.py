"""The challenge set: texts that are right, the same texts with one thing changed, and what a bundle says of them.

The set is a file of the package, ``embedded/challenge.parquet``, which ``benchmarks/paper/challenge`` generates. Rows
with one value of ``pair`` belong together; their ``variant`` is

``base``       a text that says all and only the facts
``edited``     the text with one change; with the gold ``omission+hallucination``, an error on either side will do
``reordered``  the base text, its facts in another order
``extended``   the base text (the edited one of an added fact), with three facts about something else

Sensitivity is the share of the wrong texts that have any error label, specificity the share of the right base and
edited texts that have the label OK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..metric.verdict import FINE
from ..scoring.output_columns import fine_codes, numbers
from ..scoring.scorer import Scorer
from ..stats.intervals import Pairs, Rate, combined, rate
from ..stats.multiple import holm, p_of_interval

_EMBEDDED = Path(__file__).resolve().parents[1] / "embedded"
CHALLENGE, TEMPLATES = _EMBEDDED / "challenge.parquet", _EMBEDDED / "challenge.json"
ROUNDING = 1e-3
"""A probability that rises by less than this has not risen: batches may differ by as much."""
_WINDOW = 512
_HALLUCINATION = FINE.index("hallucination")
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Answers:
    """What a metric says of the rows of the set. ``fine``: int8, -1 for an error. ``fact``: P(text → fact) of the fact
    that a row's change is about; ``text``: P(facts → text); float64, NaN where not known. *Shape:* (rows,) each."""

    fine: npt.NDArray[np.int8]
    fact: npt.NDArray[np.float64]
    text: npt.NDArray[np.float64]


@dataclass(frozen=True)
class KindResult:
    """One kind of change. ``expected``: the gold label of the edited texts, ``not_OK`` where either side will do.
    ``right``: of the edited texts, those with an error on that side, or that pass. ``base``: of the base texts, those
    that pass. ``pairs``: pairs of which both are right. ``flagged``: edited texts with any error label. ``p``: that the
    change makes no difference, with Holm's correction for the number of kinds: wrong texts are found as often as base
    texts are flagged, or correct texts pass as often as base texts."""

    kind: str
    about: str
    expected: str
    right: Rate
    base: Rate
    pairs: Rate
    flagged: Rate
    p: float | None


@dataclass(frozen=True)
class Check:
    """Something that must hold between two rows. ``broken``: pairs in which it does not. ``largest``: by how much a
    probability changed where it should not have; ``None`` without such pairs."""

    name: str
    about: str
    broken: Rate
    largest: float | None


@dataclass(frozen=True)
class ChallengeResult:
    """``rows``: distinct texts that were judged. ``errors``: those without a label; they count as flagged. ``score``:
    mean over kinds of the mean of ``right`` and ``base``, the balanced accuracy; ``low``, ``high``: its 95 % interval.
    """

    metric: str
    signature: str
    revision: int
    pairs: int
    rows: int
    errors: int
    score: float
    low: float
    high: float
    sensitivity: Rate
    specificity: Rate
    kinds: tuple[KindResult, ...]
    checks: tuple[Check, ...]


def read_challenge(path: Path = CHALLENGE) -> pa.Table:
    """The rows of the set: ``pair``, ``variant``, ``kind``, ``change``, ``domain``, ``gold_fine``, ``fact`` (position
    of the fact that the change is about, null where it is about none or several), ``triples``, ``text``."""
    return pq.read_table(path)


def read_templates() -> dict[str, str]:
    """The templates of all facts of the set, so that a bundle is tested and not a template file."""
    return msgspec.json.decode(TEMPLATES.read_bytes(), type=dict[str, str])


def judge(
    scorer: Scorer, table: pa.Table, progress: Callable[[int, int], None] = lambda done, rows: None
) -> tuple[Answers, int]:
    """Score the rows of the set, equal ones once; also the number of distinct rows.

    Args:
        progress: called with the rows that are judged, and all rows.
    """
    facts = [tuple(tuple(fact.values()) for fact in row) for row in table["triples"].to_pylist()]
    distinct: dict[tuple[object, str], int] = {}
    at = np.array(
        [distinct.setdefault(row, len(distinct)) for row in zip(facts, table["text"].to_pylist(), strict=True)]
    )
    rows = table.take(np.unique(at, return_index=True)[1]).select(["triples", "text"])
    scored: list[pa.Table] = []
    for part in scorer.score_batches(rows.slice(start, _WINDOW) for start in range(0, len(rows), _WINDOW)):
        scored.append(part)
        progress(sum(map(len, scored)), len(rows))
    whole = pa.concat_tables(scored, promote_options="permissive").combine_chunks().take(at)
    columns = {name: whole[name].combine_chunks() for name in ("fine", "fact_entailment", "text_entailment")}
    return answers_of(columns, table), len(rows)


def answers_of(columns: Mapping[str, pa.Array], table: pa.Table) -> Answers:
    """Answers from the columns ``fine``, ``fact_entailment`` and ``text_entailment`` of the rows of ``table``."""
    fact = [
        np.nan if at is None or not found or found[at] is None else found[at]
        for at, found in zip(table["fact"].to_pylist(), columns["fact_entailment"].to_pylist(), strict=True)
    ]
    text = numbers(columns["text_entailment"], "text_entailment")
    return Answers(fine_codes(columns["fine"], "fine"), np.array(fact, np.float64), text)


def measure(table: pa.Table, found: Answers, *, metric: str, signature: str, rows: int) -> ChallengeResult:
    """Figures of a metric's answers to the set, or to some pairs of it.

    Args:
        rows: the number of distinct rows.
    """
    columns = {name: np.array(table[name].to_pylist()) for name in ("pair", "variant", "kind", "gold_fine")}
    variants = {name: np.flatnonzero(columns["variant"] == name) for name in np.unique(columns["variant"])}
    base, edited = (variants[name] for name in ("base", "edited"))
    names = dict.fromkeys(columns["kind"][base].tolist())
    changes = dict(zip(table["kind"].to_pylist(), table["change"].to_pylist(), strict=True))
    gold = np.array([FINE.index(label) for label in columns["gold_fine"][edited]])
    fine = found.fine
    kinds = []
    for name in names:
        mine = columns["kind"][base] == name
        kinds.append(_kind(name, changes[name], int(gold[mine][0]), fine[base[mine]], fine[edited[mine]]))
    kinds = [replace(one, p=p) for one, p in zip(kinds, holm([one.p for one in kinds]), strict=True)]
    rates = [one for kind in kinds for one in (kind.right, kind.base)]
    score = float(np.mean([one.value or 0.0 for one in rates]))
    # Wilson's interval of each share, as if the two of a kind were of other pairs.
    low, high = combined(score, [(1 / len(rates), one) for one in rates])
    wrong, right = fine[edited[gold != 0]], fine[np.concatenate([base, edited[gold == 0]])]
    return ChallengeResult(
        metric=metric,
        signature=signature,
        revision=int(table.schema.metadata[b"revision"]),
        pairs=len(base),
        rows=rows,
        errors=int((fine < 0).sum()),
        score=score,
        low=low,
        high=high,
        sensitivity=rate(int((wrong != 0).sum()), len(wrong)),
        specificity=rate(int((right == 0).sum()), len(right)),
        kinds=tuple(kinds),
        checks=tuple(_checks(columns, variants, found)),
    )


def _kind(name: str, about: str, gold: int, base: npt.NDArray[np.int8], edited: npt.NDArray[np.int8]) -> KindResult:
    """``gold``: FINE code of the edited texts. ``base``, ``edited``: FINE codes, *Shape:* (pairs,) each."""
    passed, flagged = base == 0, edited != 0
    right = ~flagged if gold == 0 else flagged if FINE[gold] == FINE[-1] else (edited > 0) & (edited & gold > 0)
    said, unchanged, both, any_error = (
        rate(int(one.sum()), len(base)) for one in (right, passed, right & passed, flagged)
    )
    p = _no_difference(right, passed == (gold == 0))
    expected = "not_OK" if FINE[gold] == FINE[-1] else FINE[gold]
    return KindResult(name, about, expected, said, unchanged, both, any_error, p)


def _no_difference(edited: Bools, base: Bools) -> float:
    """The p-value of equal shares in the two texts of the pairs (Newcombe's interval). *Shape:* (pairs,) each."""
    counts = (edited & base, edited & ~base, ~edited & base, ~edited & ~base)
    pairs = Pairs(*(int(one.sum()) for one in counts))
    difference = (pairs.gained - pairs.lost) / pairs.n
    return p_of_interval(difference, *combined(difference, (), pairs), 0.0)


def _checks(columns: Mapping[str, np.ndarray], variants: Mapping[str, Rows], found: Answers) -> list[Check]:
    base, edited = variants["base"], variants["edited"]
    kind, pair = columns["kind"], columns["pair"]
    row_of = {name: dict(zip(pair[rows].tolist(), rows.tolist(), strict=True)) for name, rows in variants.items()}
    removed, added = kind[base] == "omission", kind[base] == "extra fact"
    reordered = [(row_of["base"][pair[row]], row) for row in variants.get("reordered", ())]
    extended = [
        (row_of["edited" if kind[row] == "extra fact" else "base"][pair[row]], row)
        for row in variants.get("extended", ())
    ]
    unsupported = np.where(found.fine < 0, -1, found.fine & _HALLUCINATION)
    checks = [
        _rising("a removed fact is not entailed more", "P(text → fact) with the fact in the text, and without it",
                found.fact[base[removed]], found.fact[edited[removed]]),
        _rising("an added fact is not entailed more", "P(facts → text) of the text, and with a fact added to it",
                found.text[base[added]], found.text[edited[added]]),
        _invariant("the order of the facts does not matter",
                   "the label of a text whose facts are given in another order; largest change of P(facts → text)",
                   reordered, found.fine, found.text),
        _invariant("irrelevant facts do not matter",
                   "whether a text is a hallucination, with three facts about something else appended to its facts; "
                   "largest change of P(facts → text)", extended, unsupported, found.text),
    ]  # fmt: skip
    return [check for check in checks if check is not None]


def _rising(name: str, about: str, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> Check | None:
    rises = after - before
    rises = rises[~np.isnan(rises)]
    if not len(rises):
        return None
    return Check(name, about, rate(int((rises > ROUNDING).sum()), len(rises)), max(0.0, float(rises.max())))


def _invariant(
    name: str, about: str, pairs: Sequence[tuple[int, int]], said: np.ndarray, text: npt.NDArray[np.float64]
) -> Check | None:
    """``pairs``: of rows whose values in ``said`` must be equal."""
    if not pairs:
        return None
    one, two = np.array(pairs, np.int64).T
    moved = np.abs(text[one] - text[two])
    moved = moved[~np.isnan(moved)]
    flips = int((said[one] != said[two]).sum())
    return Check(name, about, rate(flips, len(pairs)), float(moved.max()) if len(moved) else None)
