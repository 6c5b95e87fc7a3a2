"""The rule for a template that looks wrong, at its three limits."""

from __future__ import annotations

import pytest

from scorer.stats.failing import looks_wrong
from scorer.stats.intervals import wilson


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [
        ((30, 30, 0, 1000), True),
        ((29, 29, 0, 1000), False),  # too few facts
        ((12, 30, 0, 1000), True),
        ((11, 30, 0, 1000), True),
        ((10, 30, 0, 1000), False),  # the interval begins at 0.192
        ((30, 40, 5, 100), True),
        ((300, 1000, 100, 1000), True),  # odds of 0.374 at the lower end, three times 0.112
        ((300, 1000, 120, 1000), False),  # and not three times 0.137
        ((99, 100, 60, 100), True),  # no rate is three times 0.6, but odds are
        ((80, 100, 60, 100), False),
        ((100, 100, 100, 100), False),
        ((500, 1000, 0, 0), False),  # there are no others
    ],
)
def test_the_rule(counts: tuple[int, int, int, int], wrong: bool) -> None:
    assert looks_wrong(*counts) is wrong
    failed, n, other_failed, others = counts
    if n >= 30 and others:
        low = wilson(failed, n)[0]
        theirs = (other_failed + 0.5) / (others - other_failed + 0.5)
        assert (low >= 0.2 and low / (1 - low) >= 3 * theirs) is wrong
