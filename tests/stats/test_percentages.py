from __future__ import annotations

from decimal import Decimal

import pytest

from scorer.audit.findings import looks_wrong
from scorer.stats.percentages import percent, points


def test_percent_and_points() -> None:
    shares = (0.0, 0.00001, 0.00994, 0.00995, 0.9994, 0.9995, 1.0)
    assert [percent(one) for one in shares] == ["0%", "<0.01%", "0.99%", "1.0%", "99.9%", ">99.9%", "100%"]
    assert [points(one) for one in (-0.047, 0.0012, 0.0, -0.00001, -1.0)] == ["-4.7", "+0.12", "±0", "≈0", "-100.0"]


def test_a_written_share_is_within_half_of_its_last_digit() -> None:
    for number in range(5, 9995):
        written = percent(number / 10000).removesuffix("%")
        last = Decimal(1).scaleb(Decimal(written).as_tuple().exponent)  # type: ignore[arg-type]  # it is finite
        assert abs(Decimal(written) - Decimal(number) / 100) <= last / 2, number


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [
        ((30, 30, 0, 1000), True),
        ((29, 29, 0, 1000), False),  # too few facts
        ((11, 30, 0, 1000), True),
        ((10, 30, 0, 1000), False),  # the interval begins at 0.192
        ((300, 1000, 100, 1000), True),  # odds of 0.374 at the lower end, three times 0.112
        ((300, 1000, 120, 1000), False),  # and not three times 0.137
        ((99, 100, 60, 100), True),  # no rate is three times 0.6, but odds are
        ((80, 100, 60, 100), False),
        ((500, 1000, 0, 0), False),  # there are no others
    ],
)
def test_the_rule(counts: tuple[int, int, int, int], wrong: bool) -> None:
    assert looks_wrong(*counts) is wrong
