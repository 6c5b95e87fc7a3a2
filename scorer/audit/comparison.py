"""One rate of one group in two runs: its change, tests and intervals, from counts alone.

Rows that are in both runs tell nothing about a change of the data: under equal signatures their labels are the same.
What is tested is

- the kept rows, as pairs: they change only when the scoring did;
- the added and the removed rows. Those with the same facts and another text are pairs, the others two disjoint samples.
  Where fewer than half as many of these were removed as added, the added ones are compared with all of the baseline's
  rows of the group; where fewer than half as many were added, the removed ones with all of this run's.

The interval of a difference takes the kept rows as fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..stats.intervals import Pairs, combined, rate
from ..stats.mantel_haenszel import Sample, Tested, compare
from .document import AddedRate, Rate, RateChange, Rewritten, Test

_NONE = Sample()


@dataclass(frozen=True)
class RateCounts:
    """Rows that count for a rate, and hits. ``before``, ``after``: of all rows; ``added``, ``removed``: of those that
    are in one run only, and ``fresh``, ``gone``: of these, without the ``pairs`` of rewritten rows. ``kept``: rows in
    both runs."""

    before: Sample
    after: Sample
    added: Sample = _NONE
    removed: Sample = _NONE
    fresh: Sample = _NONE
    gone: Sample = _NONE
    pairs: Pairs = field(default_factory=Pairs)
    kept: Pairs = field(default_factory=Pairs)


def rate_change(counts: RateCounts) -> RateChange:
    """A rate in both runs, with the interval of the difference and tests."""
    before, after = _rate(counts.before), _rate(counts.after)
    kept, pairs = counts.kept, counts.pairs
    change = RateChange(
        before=before,
        after=after,
        difference=None,
        low=None,
        high=None,
        rewritten=Rewritten(n=pairs.n, worse=pairs.gained, better=pairs.lost, correlation=pairs.correlation),
        tests=[],
        significant=False,
    )
    if kept.gained + kept.lost and (tested := compare(kept, _NONE, _NONE)):
        change.tests.append(test("mcnemar", kept.n, kept.n, tested.z, tested.p))
    now, then = _samples(counts)
    if tested := compare(pairs, now, then):
        change.tests.append(test("mantel_haenszel", then.n + pairs.n, now.n + pairs.n, tested.z, tested.p))
    if before.value is not None and after.value is not None:
        n0, n1 = counts.before.n, counts.after.n
        difference = change.difference = after.value - before.value
        moved = kept.gained + kept.lost - (kept.gained - kept.lost) ** 2 / max(kept.n, 1)
        change.low, change.high = combined(
            difference,
            [(counts.fresh.n / n1, _rate(counts.fresh)), (-counts.gone.n / n0, _rate(counts.gone))],
            pairs,
            (pairs.n / n1, pairs.n / n0),
            moved / (n0 * n1),
        )
    return change


def added_rate(counts: RateCounts) -> AddedRate:
    """The added rows compared with the removed ones and with the baseline's, and whether they are worse."""
    added, removed, baseline = _rate(counts.added), _rate(counts.removed), _rate(counts.before)
    fresh, gone, pairs = counts.fresh, counts.gone, counts.pairs
    found = AddedRate(
        added=added, removed=removed, baseline=baseline, low=None, high=None, p_removed=None, p_baseline=None
    )
    if added.value is not None and removed.value is not None:
        then = counts.before if 2 * gone.n < fresh.n else gone
        found.p_removed = _chance(compare(pairs, fresh, then))
        n0, n1 = counts.removed.n, counts.added.n
        samples = [(fresh.n / n1, _rate(fresh)), (-gone.n / n0, _rate(gone))]
        weights = pairs.n / n1, pairs.n / n0
        found.low, found.high = combined(added.value - removed.value, samples, pairs, weights)
    if added.value is not None and baseline.value is not None:
        found.p_baseline = _chance(compare(Pairs(), counts.added, counts.before))
    return found


def test(name: str, before: int, after: int, statistic: float, p: float) -> Test:
    """A test that is not yet corrected for the others of the audit."""
    return Test(name=name, n_before=before, n_after=after, statistic=statistic, p=p, q=p, significant=False)


def _samples(counts: RateCounts) -> tuple[Sample, Sample]:
    fresh, gone = counts.fresh, counts.gone
    if 2 * gone.n < fresh.n:
        return fresh, counts.before
    return (counts.after, gone) if 2 * fresh.n < gone.n else (fresh, gone)


def _rate(sample: Sample) -> Rate:
    return rate(sample.count, sample.n, sample.effect)


def _chance(tested: Tested | None) -> float | None:
    return tested.p_rise if tested is not None else None
