"""The challenge set: texts that are right, the same texts with one thing changed, and what a bundle says of them.

Rows with one value of ``pair`` belong together. Their ``variant`` is ``base``, a text that says all and only the facts;
``edited``, with one change; ``reordered``, the base text, its facts in another order; ``extended``, with three facts
about something else. Sensitivity is the share of wrong texts that have any error label, specificity that of right base
and edited texts that are OK.
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
from ..stats.intervals import PairedCounts, Rate, combined, rate
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
    """Answers to the rows of the set. ``fine``: int8, -1 for an error. ``fact``: P(text → fact) of the fact that a
    row's change is about; ``text``: P(facts → text); float64, NaN where not known. *Shape:* (rows,) each."""

    fine: Codes
    fact: Floats
    text: Floats


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
    ``contradiction``: the bundle's threshold with its rates, as measured at export.
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
    contradiction: Contradiction | None = None


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
    """Score the rows of the set, equal ones once; also the number of distinct rows. ``progress``: called with the rows
    that are judged, and all rows."""
    distinct: dict[tuple[str, str], int] = {}
    rows = zip(map(str, table["triples"].to_pylist()), table["text"].to_pylist(), strict=True)
    at = np.array([distinct.setdefault(row, len(distinct)) for row in rows])
    asked = table.take(np.unique(at, return_index=True)[1]).select(["triples", "text"])
    scored: list[pa.Table] = []
    for part in scorer.score_batches(asked.slice(start, _WINDOW) for start in range(0, len(asked), _WINDOW)):
        scored.append(part)
        progress(sum(map(len, scored)), len(asked))
    whole = pa.concat_tables(scored, promote_options="permissive").combine_chunks().take(at)
    columns = {name: whole[name].combine_chunks() for name in ("fine", "fact_entailment", "text_entailment")}
    return answers_of(columns, table), len(asked)


def answers_of(columns: Mapping[str, pa.Array], table: pa.Table) -> Answers:
    """Answers from the columns ``fine``, ``fact_entailment`` and ``text_entailment`` of the rows of ``table``."""
    fact = [
        np.nan if at is None or not found or found[at] is None else found[at]
        for at, found in zip(table["fact"].to_pylist(), columns["fact_entailment"].to_pylist(), strict=True)
    ]
    text = numbers(columns["text_entailment"], "text_entailment")
    return Answers(fine_codes(columns["fine"], "fine"), np.array(fact, np.float64), text)


def measure(table: pa.Table, found: Answers, *, metric: str, signature: str, rows: int) -> ChallengeResult:
    """Figures of a metric's answers to the set, or to some pairs of it; ``rows``: the number of distinct rows."""
    columns = {name: np.array(table[name].to_pylist()) for name in ("pair", "variant", "kind", "gold_fine", "change")}
    variants = {name: np.flatnonzero(columns["variant"] == name) for name in np.unique(columns["variant"])}
    base, edited = variants["base"], variants["edited"]
    gold = np.array([FINE.index(label) for label in columns["gold_fine"][edited]])
    kinds = []
    for name in dict.fromkeys(columns["kind"][base].tolist()):
        mine = columns["kind"][base] == name
        about = str(columns["change"][base[mine]][0])
        kinds.append(_kind(name, about, int(gold[mine][0]), found.fine[base[mine]], found.fine[edited[mine]]))
    kinds = [replace(one, p=p) for one, p in zip(kinds, holm([one.p for one in kinds]), strict=True)]
    rates = [one for kind in kinds for one in (kind.right, kind.base)]
    score = float(np.mean([one.value or 0.0 for one in rates]))
    # Wilson's interval of each share, as if the two of a kind were of other pairs.
    low, high = combined(score, [(1 / len(rates), one) for one in rates])
    return ChallengeResult(
        metric=metric,
        signature=signature,
        revision=int(table.schema.metadata[b"revision"]),
        pairs=len(base),
        rows=rows,
        errors=int((found.fine < 0).sum()),
        score=score,
        low=low,
        high=high,
        sensitivity=_share(found.fine[edited[gold != 0]] != 0),
        specificity=_share(found.fine[np.concatenate([base, edited[gold == 0]])] == 0),
        kinds=tuple(kinds),
        checks=tuple(_checks(columns, variants, found)),
    )


def _share(hits: Mask) -> Rate:
    return rate(int(hits.sum()), len(hits))


def _kind(name: str, about: str, gold: int, base: Codes, edited: Codes) -> KindResult:
    """``gold``: FINE code of the edited texts. ``base``, ``edited``: FINE codes, *Shape:* (pairs,) each."""
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
    counts = (edited & base, edited & ~base, ~edited & base, ~edited & ~base)
    pairs = PairedCounts(*(int(one.sum()) for one in counts))
    difference = (pairs.gained - pairs.lost) / pairs.n
    return p_of_interval(difference, *combined(difference, (), pairs), 0.0)


def _checks(columns: Mapping[str, np.ndarray], variants: Mapping[str, Indices], found: Answers) -> Iterator[Check]:
    base, edited, kind, pair = variants["base"], variants["edited"], columns["kind"], columns["pair"]
    for name, of, about, values in (
        ("a removed fact is not entailed more", "omission",
         "P(text → fact) with the fact in the text, and without it", found.fact),
        ("an added fact is not entailed more", "extra fact",
         "P(facts → text) of the text, and with a fact added to it", found.text),
    ):  # fmt: skip
        rises = (values[edited] - values[base])[kind[base] == of]
        rises = rises[~np.isnan(rises)]
        if len(rises):
            yield Check(name, about, _share(rises > ROUNDING), max(0.0, float(rises.max())))
    row_of = {name: dict(zip(pair[rows].tolist(), rows.tolist(), strict=True)) for name, rows in variants.items()}
    unsupported = np.where(found.fine < 0, -1, found.fine & _HALLUCINATION)
    for name, variant, about, labels in (
        ("the order of the facts does not matter", "reordered",
         "the label of a text whose facts are given in another order; largest change of P(facts → text)", found.fine),
        ("irrelevant facts do not matter", "extended",
         "whether a text is a hallucination, with three facts about something else appended to its facts; "
         "largest change of P(facts → text)", unsupported),
    ):  # fmt: skip
        after = variants.get(variant, np.zeros(0, np.int64))
        earlier_variants = [
            "edited" if variant == "extended" and kind[row] == "extra fact" else "base" for row in after
        ]
        before = [row_of[earlier][pair[row]] for earlier, row in zip(earlier_variants, after, strict=True)]
        if before:
            moved = np.abs(found.text[before] - found.text[after])
            moved = moved[~np.isnan(moved)]
            largest = float(moved.max()) if len(moved) else None
            yield Check(name, about, _share(labels[before] != labels[after]), largest)
