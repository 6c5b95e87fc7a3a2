"""Which errors are found and which right texts pass, by kind of change, and what must hold between texts.

Everywhere here, sensitivity is the share of the wrong texts that have any error label, and specificity the share of
the right texts, changed or not, that have the label OK.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from ...metric.triples import Triple
from ...stats.intervals import Pairs, Rate, combined, rate
from ...stats.multiple import holm, p_of_interval
from .build import ABOUT, PER_KIND, REVISION, SEED
from .case import HALLUCINATION, OK, OMISSION, Case
from .domains import DOMAINS
from .edits import make_record
from .judging import Answers, Metric, Row
from .natural import NaturalResult

ROUNDING = 1e-3
"""A probability that rises by less than this has not risen: batches may differ by as much."""
_BITS = {OMISSION: 1, HALLUCINATION: 2}


@dataclass(frozen=True)
class KindResult:
    """One kind of change. ``expected``: what should be said of the changed texts. ``right``: of the changed texts,
    those of which it is said. ``base``: of the unchanged texts, those that pass. ``pairs``: pairs of which both are
    right. ``flagged``: changed texts with any error label. ``p``: that the change makes no difference, with Holm's
    correction for the number of kinds: wrong texts are found as often as unchanged ones are flagged, or correct texts
    pass as often as unchanged ones."""

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
    """Something that must hold between two texts, or two orders of the facts. ``broken``: pairs in which it does not.
    ``largest``: by how much a probability changed where it should not have; ``None`` without such pairs."""

    name: str
    about: str
    broken: Rate
    largest: float | None


@dataclass(frozen=True)
class ChallengeResult:
    """``score``: mean over kinds of the mean of ``right`` and ``base``, the balanced accuracy; ``low``, ``high``: its
    95 % interval. ``errors``: rows that
    the metric gave no label; they count as flagged. ``left_out``: cases that the metric cannot judge. ``natural``: the
    sets of :mod:`.natural`, where their files were given."""

    metric: str
    signature: str
    revision: int
    seed: int
    per_kind: int
    rows: int
    errors: int
    left_out: int
    score: float
    low: float
    high: float
    sensitivity: Rate
    specificity: Rate
    kinds: tuple[KindResult, ...]
    checks: tuple[Check, ...]
    natural: tuple[NaturalResult, ...] = ()


def challenge(
    cases: Sequence[Case],
    metric: Metric,
    *,
    seed: int = SEED,
    per_kind: int = PER_KIND,
    progress: Callable[[int, int], None] = lambda done, rows: None,
) -> ChallengeResult:
    """Judge the set, and count.

    Args:
        seed, per_kind: how the cases were built, for the result.
        progress: told the rows judged so far, and all rows.
    """
    chosen = [one for one in cases if metric.fits(one)]
    if not chosen:
        raise ValueError("no case fits this metric")
    shuffled = [one for one in chosen if len(one.triples) > 1 and one.kind in ("paraphrase", "other order")]
    lengthened = [
        (row, longer) for row, longer in _lengthened(chosen) if metric.fits(replace(chosen[0], triples=longer[0]))
    ]
    wanted = [(one.triples, text) for one in chosen for text in (one.base, one.edited)]
    wanted += [(_reordered(one), one.base) for one in shuffled] + [longer for _, longer in lengthened]
    rows: dict[Row, int] = {row: number for number, row in enumerate(dict.fromkeys(wanted))}
    done = 0

    def step(judged: int) -> None:
        nonlocal done
        done += judged
        progress(done, len(rows))

    found = metric.answer(list(rows), step)
    bases = np.array([rows[one.triples, one.base] for one in chosen])
    edits = np.array([rows[one.triples, one.edited] for one in chosen])
    orders = [(rows[one.triples, one.base], rows[_reordered(one), one.base]) for one in shuffled]
    appended = [(rows[row], rows[more]) for row, more in lengthened]
    labels = _Labels(chosen, found.fine[bases], found.fine[edits])
    kinds = _corrected([labels.kind(name) for name in ABOUT if name in labels.kinds])
    sensitivity, specificity = labels.found_and_passed()
    score, low, high = _score(kinds)
    return ChallengeResult(
        metric=metric.name,
        signature=metric.signature,
        revision=REVISION,
        seed=seed,
        per_kind=per_kind,
        rows=len(rows),
        errors=int((found.fine < 0).sum()),
        left_out=len(cases) - len(chosen),
        score=score,
        low=low,
        high=high,
        sensitivity=sensitivity,
        specificity=specificity,
        kinds=kinds,
        checks=tuple(check for check in _checks(chosen, found, bases, edits, orders, appended) if check is not None),
    )


class _Labels:
    """The labels of both texts of every case. ``base``, ``edited``: FINE codes, -1 for an error. *Shape:* (cases,)."""

    def __init__(self, cases: Sequence[Case], base: np.ndarray, edited: np.ndarray) -> None:
        self.base, self.edited = base, edited
        self.kinds = np.array([one.kind for one in cases])
        self.expected = np.array([one.expected for one in cases])

    def kind(self, name: str) -> KindResult:
        """The figures of one kind of change."""
        mine = self.kinds == name
        base, edited, expected = self.base[mine], self.edited[mine], str(self.expected[mine][0])
        if expected in _BITS:
            right = (edited >= 0) & (edited & _BITS[expected] > 0)
        else:
            right = edited == 0 if expected == OK else edited != 0
        said, passed, both, flagged = (
            rate(int(one.sum()), len(base)) for one in (right, base == 0, right & (base == 0), edited != 0)
        )
        p = _no_difference(right, (base == 0) == (expected == OK))
        return KindResult(name, ABOUT[name], expected, said, passed, both, flagged, p)

    def found_and_passed(self) -> tuple[Rate, Rate]:
        """Sensitivity and specificity."""
        passes = self.expected == OK
        wrong = self.edited[~passes]
        right = np.concatenate([self.base, self.edited[passes]])
        return rate(int((wrong != 0).sum()), len(wrong)), rate(int((right == 0).sum()), len(right))


def _no_difference(edited: np.ndarray, base: np.ndarray) -> float:
    """The p-value of equal shares in the two texts of the pairs (Newcombe's interval). bool, *Shape:* (pairs,) each."""
    counts = (edited & base, edited & ~base, ~edited & base, ~edited & ~base)
    pairs = Pairs(*(int(one.sum()) for one in counts))
    difference = (pairs.gained - pairs.lost) / pairs.n
    return p_of_interval(difference, *combined(difference, (), pairs), 0.0)


def _corrected(kinds: Sequence[KindResult]) -> tuple[KindResult, ...]:
    return tuple(replace(one, p=p) for one, p in zip(kinds, holm([one.p for one in kinds]), strict=True))


def _score(kinds: Sequence[KindResult]) -> tuple[float, float, float]:
    """The mean over kinds, and its interval: Wilson's of each kind, as if its two shares were of other pairs, combined
    by the squares of the distances to them."""
    rates = [one for kind in kinds for one in (kind.right, kind.base)]
    value = float(np.mean([one.value or 0.0 for one in rates]))
    return value, *combined(value, [(1 / len(rates), one) for one in rates])


def _checks(
    cases: Sequence[Case],
    found: Answers,
    bases: np.ndarray,
    edits: np.ndarray,
    orders: Sequence[tuple[int, int]],
    appended: Sequence[tuple[int, int]],
) -> list[Check | None]:
    """``orders``, ``appended``: rows that must have equal labels: with the facts reordered, with facts appended."""
    removed = [
        (_of_fact(found, bases[number], one.fact), _of_fact(found, edits[number], one.fact))
        for number, one in enumerate(cases)
        if one.kind == "omission" and one.fact is not None
    ]
    added = [
        (float(found.text[bases[number]]), float(found.text[edits[number]]))
        for number, one in enumerate(cases)
        if one.kind == "extra fact"
    ]
    unsupported = np.where(found.fine < 0, -1, found.fine & _BITS[HALLUCINATION])
    return [
        _rising(
            "a removed fact is not entailed more", "P(text → fact) with the fact in the text, and without it", removed
        ),
        _rising(
            "an added fact is not entailed more", "P(facts → text) of the text, and with a fact added to it", added
        ),
        _invariant(
            "the order of the facts does not matter",
            "the label of a text whose facts are given in another order; largest change of P(facts → text)",
            orders, found.fine, found.text,
        ),
        _invariant(
            "irrelevant facts do not matter",
            "whether a text is a hallucination, with three facts about something else appended to its facts; largest "
            "change of P(facts → text)",
            appended, unsupported, found.text,
        ),
    ]  # fmt: skip


def _rising(name: str, about: str, pairs: list[tuple[float, float]]) -> Check | None:
    known = [(before, after) for before, after in pairs if not (math.isnan(before) or math.isnan(after))]
    if not known:
        return None
    rises = [after - before for before, after in known]
    broken = sum(rise > ROUNDING for rise in rises)
    return Check(name, about, rate(broken, len(known)), max(0.0, max(rises)))


def _invariant(
    name: str, about: str, pairs: Sequence[tuple[int, int]], said: np.ndarray, text: np.ndarray
) -> Check | None:
    """``pairs``: of rows. ``said``: what must be equal. ``text``: P(facts → text)."""
    if not pairs:
        return None
    one, two = np.array(pairs, np.int64).T
    moved = np.abs(text[one] - text[two])
    moved = moved[~np.isnan(moved)]
    flips = int((said[one] != said[two]).sum())
    return Check(name, about, rate(flips, len(pairs)), float(moved.max()) if len(moved) else None)


def _of_fact(found: Answers, row: int, fact: int | None) -> float:
    facts = found.facts[row]
    value = facts[fact] if facts is not None and fact is not None and fact < len(facts) else None
    return math.nan if value is None else float(value)


def _reordered(one: Case) -> tuple[Triple, ...]:
    """The facts in another order; the same one for the same case."""
    facts = list(one.triples)
    rng = Random(one.base)
    while tuple(facts) == one.triples:
        rng.shuffle(facts)
    return tuple(facts)


def _lengthened(cases: Sequence[Case]) -> Iterator[tuple[Row, Row]]:
    """Right texts and texts with an extra fact, each also with three more facts about an entity of another domain."""
    for one in cases:
        if one.kind not in ("paraphrase", "other order", "extra fact"):
            continue
        text = one.edited if one.kind == "extra fact" else one.base
        rng = Random(text)
        added = make_record(rng.choice([domain for domain in DOMAINS if domain.name != one.domain]), 3, rng)
        yield (one.triples, text), ((*one.triples, *added.triples), text)
