from __future__ import annotations

from decimal import Decimal

from scorer.system.numbers import percent, points


def test_percent_and_points() -> None:
    shares = (0.0, 0.00001, 0.00994, 0.00995, 0.9994, 0.9995, 1.0)
    assert [percent(one) for one in shares] == ["0%", "<0.01%", "0.99%", "1.0%", "99.9%", ">99.9%", "100%"]
    assert [points(one) for one in (-0.047, 0.0012, 0.0, -0.00001, -1.0)] == ["-4.7", "+0.12", "±0", "≈0", "-100.0"]


def test_a_written_share_is_within_half_of_its_last_digit() -> None:
    for number in range(5, 9995):
        written = percent(number / 10000).removesuffix("%")
        last = Decimal(1).scaleb(Decimal(written).as_tuple().exponent)  # type: ignore[arg-type]  # it is finite
        assert abs(Decimal(written) - Decimal(number) / 100) <= last / 2, number
