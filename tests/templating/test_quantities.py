"""Values that texts give in another unit, by hand."""

from __future__ import annotations

import pytest

from scorer.templating.quantities import quantities, said_in_another_unit


@pytest.mark.parametrize(
    ("predicate", "value", "text", "said"),
    [
        ("height_cm", "330", "The statue is 3.3 metres high.", "3.3 metres"),
        ("height (cm)", "38", "It is 0.38 m high and 0.2 m wide.", "0.38 m"),
        ("heightCm", "160", "She is 5 feet 3 inches tall.", "5 feet 3 inches"),  # 160.02 cm
        ("duration", "2 h 0 min", "The flight takes 2 hours.", "2 hours"),
        ("duration", "1 h 25 min", "It takes 1 hour and 25 minutes.", "1 hour and 25 minutes"),
        ("duration_min", "95", "The 1-hour film", None),
        ("duration_min", "90", "The 1.5-hour film", "1.5-hour"),
        ("distance_m", "1524", "a run of 1.5 km", "1.5 km"),
        ("mass_kg", "1200", "It weighs 1.2 tonnes.", "1.2 tonnes"),
        ("length_m", "12000", "12 km", "12 km"),
        ("length_m", "15000", "5 km, 10 km and 3 m", None),  # a list
        ("height_cm", "330", "It is 330 cm high.", None),  # as the table has it
        ("height_cm", "330", "It weighs 3.3 kg.", None),
        ("height_cm", "330", "It is 4 metres high.", None),
        ("height_cm", "0", "It is 0.1 mm high.", None),
        ("goals", "330", "3.3 metres", None),  # the name has no unit
        ("height_cm", "about 330", "3.3 metres", None),
        ("duration", "2 h by bus", "2 hours", None),
        ("place", "Rome", "3.3 metres", None),
        ("m", "5", "0.005 km", "0.005 km"),
        ("team", "5", "0.005 km", None),  # not a unit at the end of a word
    ],
)
def test_a_value_in_another_unit(predicate: str, value: str, text: str, said: str | None) -> None:
    assert said_in_another_unit(predicate, value, text) == said


def test_quantities_of_a_text() -> None:
    text = "It took 2 h 5 min, 1,250 m and 3 kg; 10.5.2026 and 5 minutes later 5min-long."
    assert [(q.dimension, q.amount, q.words) for q in quantities(text)] == [
        ("time", 7500.0, "2 h 5 min"),
        ("length", 1250.0, "1,250 m"),
        ("mass", 3.0, "3 kg"),
        ("time", 300.0, "5 minutes"),
        ("time", 300.0, "5min"),
    ]
