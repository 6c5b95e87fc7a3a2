"""Tests of change against published tables and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scorer.audit.significance import (
    benjamini_hochberg,
    fisher_exact,
    kolmogorov_smirnov,
    kolmogorov_tail,
    mcnemar,
    stability_index,
    two_proportions,
)

stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")


def test_mcnemar() -> None:
    # Agresti, Categorical Data Analysis, approval of the prime minister: 150 and 86 changed their minds.
    statistic, p = mcnemar(150, 86)
    assert statistic == pytest.approx((64 - 1) ** 2 / 236)
    assert p == pytest.approx(stats.chi2.sf(statistic, 1), rel=1e-12)
    for lost, gained in ((0, 1), (3, 9), (12, 12), (0, 24), (24, 0)):
        assert mcnemar(lost, gained)[1] == pytest.approx(stats.binomtest(lost, lost + gained).pvalue, rel=1e-12)
    assert mcnemar(0, 0) == (0.0, 1.0)
    assert mcnemar(150, 86)[1] == mcnemar(86, 150)[1]


def test_two_proportions() -> None:
    name, z, p = two_proportions(120, 1000, 150, 1000)
    theirs = stats.chi2_contingency([[120, 880], [150, 850]], correction=False)
    assert name == "two_proportions"
    assert (z * z, p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)
    assert z < 0
    for count, n, other, m in (
        (1, 40, 9, 50),
        (0, 10, 3, 900),
        (7, 7, 1, 9),
        (0, 5, 0, 7),
        (5, 5, 7, 7),
        (2, 3, 0, 2000),
    ):
        name, _, p = two_proportions(count, n, other, m)
        assert name == "fisher_exact"
        assert p == pytest.approx(stats.fisher_exact([[count, n - count], [other, m - other]]).pvalue, rel=1e-6)


def test_fisher_of_many_rows() -> None:
    ours, theirs = fisher_exact(3, 200_000, 1, 100_000), stats.fisher_exact([[3, 199_997], [1, 99_999]])
    assert ours == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-6)


def test_kolmogorov_smirnov() -> None:
    rng = np.random.default_rng(1)
    for n, m, shift in ((300, 400, 0.0), (300, 400, 0.08), (50, 2000, 0.2), (1000, 1000, 0.05)):
        one, other = rng.random(n), rng.random(m) + shift
        distance, p = kolmogorov_smirnov(one, other)
        theirs = stats.ks_2samp(one, other, method="exact")
        assert distance == pytest.approx(theirs.statistic, abs=1e-12)
        assert p == pytest.approx(theirs.pvalue, rel=0.1, abs=2e-3)
    for x in (0.2, 0.5, 1.0, 1.5, 3.0):
        assert kolmogorov_tail(x) == pytest.approx(stats.kstwobign.sf(x), abs=1e-12)
    assert kolmogorov_tail(0.0) == 1.0
    assert kolmogorov_smirnov(np.ones(5), np.ones(9)) == (0.0, 1.0)


def test_stability_index() -> None:
    before = np.arange(1000) / 1000
    after = np.concatenate([np.arange(500) / 1000, np.full(500, 0.95)])
    # By hand: half of the rows stay in the lower five tenths (100 each), the other half falls into the last.
    counts = [100] * 5 + [0] * 4 + [500]
    shares = [((c + 0.5) / 1005, 100.5 / 1005) for c in counts]
    assert stability_index(before, after) == pytest.approx(sum((a - b) * math.log(a / b) for a, b in shares))
    assert stability_index(before, before) == 0.0
    assert stability_index(before, before[:0]) is None
    # Ties: nine in ten of yesterday's are equal, which makes one bucket of them and one of the rest.
    tied = np.concatenate([np.ones(900), np.zeros(100)])
    assert stability_index(tied, tied[::-1]) == 0.0
    assert stability_index(tied, np.zeros(1000)) > 1.0


def test_benjamini_hochberg() -> None:
    # Benjamini & Hochberg (1995), section 3: at 0.05 the four smallest of these fifteen are rejected.
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
    assert (benjamini_hochberg(p) < 0.05).sum() == 4
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    shuffled = np.random.default_rng(0).permutation(p)
    assert benjamini_hochberg(shuffled) == pytest.approx(stats.false_discovery_control(shuffled))
    assert len(benjamini_hochberg([])) == 0
