"""Shares and differences as text: what is not zero never reads as zero, and only 1 reads as 100%."""

from __future__ import annotations

from decimal import Decimal

import pytest

from scorer.stats.percentages import percent, points


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.0, "0%"),
        (0.00001, "<0.01%"),
        (0.00994, "0.99%"),
        (0.00995, "1.0%"),
        (0.0316, "3.2%"),
        (0.9994, "99.9%"),
        (0.9995, ">99.9%"),
        (1.0, "100%"),
    ],
)
def test_percent(share: float, written: str) -> None:
    assert percent(share) == written


def test_a_written_share_is_within_half_of_its_last_digit() -> None:
    for number in range(5, 9995):
        written = percent(number / 10000).removesuffix("%")
        last = Decimal(1).scaleb(Decimal(written).as_tuple().exponent)  # type: ignore[arg-type]  # it is finite
        assert abs(Decimal(written) - Decimal(number) / 100) <= last / 2, number


@pytest.mark.parametrize(
    ("difference", "written"), [(-0.047, "-4.7"), (0.0012, "+0.12"), (0.0, "±0"), (-0.00001, "≈0"), (-1.0, "-100.0")]
)
def test_points(difference: float, written: str) -> None:
    assert points(difference) == written
