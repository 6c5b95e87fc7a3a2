"""Tests of change against published tables and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scorer.audit.significance import kolmogorov_smirnov, kolmogorov_tail, stability_index

stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")


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
