"""False alarms, power and coverage of gates in simulated nights (:mod:`benchmarks.gate_nights`)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from benchmarks.gate_nights import CASES, GROUPS, ROWS, SHARE, Nights, counts, promised, run, simulate
from scorer.audit.comparison import rate_change
from scorer.audit.power import NIGHTS, Rows, Spread, detectable_fall, index_exceeds, mean_falls, rings
from scorer.audit.significance import stability_index
from scorer.stats.intervals import Pairs
from scorer.stats.mantel_haenszel import Sample, compare

BY_NAME = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def check(case: Nights, groups: int, months: int) -> None:
    """Within what is promised, but for what chance does to so few months."""
    found = run(case, groups, months)
    nights = months * NIGHTS
    for seen, said, n in (
        (found.night, found.night_promised, nights),
        (found.month, found.month_promised, months),
        (found.added_night, 0.01, nights),
        (found.added_month, 1 - 0.99**NIGHTS, months),
    ):
        assert seen <= said + 3.5 * math.sqrt(max(said * (1 - said), 1 / n) / n)
    intervals = months * groups
    assert abs(found.covered - 0.95) <= 0.02 + 3.5 * math.sqrt(0.95 * 0.05 / intervals) or found.covered > 0.95


@BY_NAME
def test_false_alarms_are_within_the_promise(case: Nights) -> None:
    check(case, 5, 15)


@pytest.mark.slow
@BY_NAME
@pytest.mark.parametrize("groups", GROUPS[1:])
def test_false_alarms_are_within_the_promise_for_many_groups(case: Nights, groups: int) -> None:
    check(case, groups, 60)


@BY_NAME
def test_a_rise_is_found_as_often_as_promised(case: Nights) -> None:
    """Twelve points more among what changes: once in each of 200 months of three groups."""
    random = np.random.default_rng(11)
    limit, rise, seen, said, covered = 0.05, 0.12, [], [], []
    for _ in range(200):
        night = next(simulate(case, 3, 1, random, rise))
        rises = (night.now.sum(axis=1) - night.before.sum(axis=1)) / ROWS
        seen += (rises > limit + 1e-9).tolist()
        said += promised(case, night, limit, rise)
        true = rise * night.changed.mean()
        changes = [rate_change(one) for one in counts(case, night)]
        covered += [one.low is not None and one.low <= true <= (one.high or 0) for one in changes]
    # The promise is made from the share of wrong rows and the correlation that one night happens to have.
    assert np.mean(seen) == pytest.approx(np.mean(said), abs=0.06)
    assert np.mean(covered) >= 0.91


def test_pairs_find_what_two_samples_do_not() -> None:
    """120 inputs, 30 % wrong before and 38 % now; one latent difficulty with a correlation of .9: two samples
    find it once in four nights, pairs twice in three."""
    normal = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats").norm
    random, months = np.random.default_rng(4), 4_000

    @cache
    def p(pairs: tuple[int, int] | None, samples: tuple[int, int] | None) -> float:
        gained, lost = pairs or (0, 0)
        after, before = (Sample(one, 120) for one in samples) if samples else (Sample(), Sample())
        found = compare(Pairs(0, gained, lost, 120 - gained - lost) if pairs else Pairs(), after, before)
        assert found is not None
        return found.p

    before, noise, other = (random.standard_normal((months, 120)) for _ in range(3))
    now = 0.9 * before + math.sqrt(1 - 0.9**2) * noise
    was, here, apart = before < normal.ppf(0.3), now < normal.ppf(0.38), other < normal.ppf(0.38)
    changes = zip((here & ~was).sum(axis=1).tolist(), (was & ~here).sum(axis=1).tolist(), strict=True)
    totals = zip(apart.sum(axis=1).tolist(), was.sum(axis=1).tolist(), strict=True)
    assert np.mean([p(one, None) < 0.05 for one in changes]) == pytest.approx(0.66, abs=0.03)
    assert np.mean([p(None, one) < 0.05 for one in totals]) == pytest.approx(0.25, abs=0.025)


@pytest.mark.parametrize("kept", [0.0, 0.9])
def test_a_rise_of_half_a_point_a_run_is_found_against_a_reference_alone(kept: float) -> None:
    """A month of 30 nights with 500 rows, a limit of eight points, all rows new or one in ten."""
    random, months, rows, limit = np.random.default_rng(7), 300, 500, 0.08
    hits = random.random((months, rows)) < SHARE
    reference, nightly, pinned = hits.sum(axis=1), np.zeros(months, bool), np.zeros(months, bool)
    for number in range(1, NIGHTS + 1):
        before = hits.sum(axis=1)
        changed = random.random((months, rows)) >= kept
        hits = np.where(changed, random.random((months, rows)) < SHARE + 0.005 * number, hits)
        nightly |= (hits.sum(axis=1) - before) / rows > limit
        pinned |= (hits.sum(axis=1) - reference) / rows > limit
    assert pinned.mean() > 0.9
    assert nightly.mean() < 0.4
    if kept:
        assert nightly.mean() == 0
    # Without a rise, such a gate fails seldom: gates check says how often.
    assert rings(Rows.all_new(rows), limit, SHARE) < 0.001


@pytest.mark.parametrize(("rows", "kept"), [(120, 0.0), (600, 0.0), (600, 0.9)])
def test_confidences_move_by_chance_as_often_as_promised(rows: int, kept: float) -> None:
    """Skewed confidences of runs without a change: their mean, against a limit and a baseline, and the index."""
    random, nights = np.random.default_rng(5), 4_000
    before, fresh = (random.beta(8, 0.4, (nights, rows)) for _ in range(2))
    new = round(rows * (1 - kept))
    now = np.concatenate([fresh[:, :new], before[:, new:]], axis=1)
    spread = Spread.of(np.histogram(before, 20, (0, 1))[0].tolist())
    falls = {
        Rows(rows, new, new): (before - now).mean(axis=1),
        Rows(rows, rows, 0): 8 / 8.4 - now.mean(axis=1),
    }
    for of, fall in falls.items():
        for chance in (0.05, 0.01):
            limit = float(np.quantile(fall, 1 - chance))
            # The histogram says how much confidences differ at most.
            assert chance * 0.9 <= mean_falls(of, limit, spread) <= 4 * chance
            assert 0.78 <= np.mean(fall + detectable_fall(of, limit, spread) > limit) <= 0.9
    if rows >= 500:
        found = np.array([stability_index(*pair) for pair in zip(before[:1000], now[:1000], strict=True)])
        for chance in (0.2, 0.05):
            limit = float(np.quantile(found, 1 - chance))
            assert index_exceeds(Rows(rows, new, new), limit) == pytest.approx(chance, rel=0.35)
