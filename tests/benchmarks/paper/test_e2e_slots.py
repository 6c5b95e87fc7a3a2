"""The slot matcher: sentences by hand, then the public outputs against their gold."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.rivals.__main__ import Rival, rivals_command
from benchmarks.paper.rivals.e2e_slots import SlotErrors, judge, normalise
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.report import evaluate
from scorer.metric.facts import Triple


def _judge(slots: dict[str, str], text: str) -> SlotErrors:
    return judge([Triple("Blue Spice", slot, value) for slot, value in slots.items()], text)


PUB = {"eatType": "pub", "area": "riverside", "near": "Raja Indian Cuisine"}


def test_all_said() -> None:
    found = _judge(PUB, "Blue Spice, a pub near Raja Indian Cuisine, lies by the river.")
    assert found == SlotErrors(slots=4)
    assert found.rate == 0 and not found.omission and not found.hallucination


def test_missing_added_wrong_and_repeated() -> None:
    found = _judge(PUB | {"food": "French"}, "Blue Spice is a family friendly pub, a pub with Italian food.")
    assert found.missing == [1, 2], "area and near"
    assert found.wrong == [3], "French became Italian"
    assert found.added == ["familyFriendly"]
    assert found.repeated == 1
    assert found.rate == pytest.approx((2 + 1 + 1 + 1) / 5)
    assert found.omission and found.hallucination


def test_names_of_places_are_not_food_or_ratings() -> None:
    assert _judge({"near": "The Six Bells"}, "Blue Spice is near The Six Bells.") == SlotErrors(slots=2)
    assert not _judge(PUB, "Blue Spice is a riverside pub near Raja Indian Cuisine").added, "no Indian food"


def test_the_name() -> None:
    assert _judge({"eatType": "pub"}, "This is a pub.").name == "missing"
    other = _judge({"eatType": "pub"}, "The Vaults is a pub.")
    assert other.name == "wrong" and other.omission and other.hallucination
    both = _judge({"eatType": "pub"}, "Blue Spice is a pub, The Vaults is not far.")
    assert both.name == "said" and both.added == ["name"]


@pytest.mark.parametrize(
    ("slot", "value", "text"),
    [
        ("priceRange", "less than £20", "has meals for less than 20 pounds"),
        ("priceRange", "£20-25", "costs £ 20 - 25"),
        ("priceRange", "high", "has a high price range"),
        ("customer rating", "1 out of 5", "is rated one out of five"),
        ("customer rating", "average", "received average customer reviews"),
        ("familyFriendly", "yes", "is kid-friendly"),
        ("familyFriendly", "no", "is not family friendly"),
        ("area", "city centre", "is in the centre of the city"),
        ("eatType", "coffee shop", "is a coffee house"),
    ],
)
def test_ways_to_say_a_value(slot: str, value: str, text: str) -> None:
    assert _judge({slot: value}, f"Blue Spice {text}.") == SlotErrors(slots=2)


@pytest.mark.parametrize(
    ("slot", "value", "text"),
    [
        ("priceRange", "cheap", "has meals for less than £20"),  # more than was given
        ("customer rating", "low", "has a rating of 5 out of 5"),
        ("familyFriendly", "no", "is child friendly"),
    ],
)
def test_another_value_is_wrong(slot: str, value: str, text: str) -> None:
    found = _judge({slot: value}, f"Blue Spice {text}.")
    assert found.wrong == [0] and not found.added and not found.missing


def test_the_golds_misreadings_only_on_request() -> None:
    triples = [Triple("Blue Spice", "priceRange", "high"), Triple("Blue Spice", "customer rating", "average")]
    misread = {
        "Blue Spice has a high price range and an average customer rating.": ["priceRange"],
        "Blue Spice has an average customer rating and a high price range.": ["customer rating"],
    }
    for text, added in misread.items():
        assert judge(triples, text).added == []
        assert judge(triples, text, as_gold=True).added == added


def test_normalised() -> None:
    assert (
        normalise("The Rainbow Vegetarian Café 's  price : £ 20 - 25") == "the rainbow vegetarian cafe's price : £20-25"
    )
    assert normalise("rated Three out of five stars") == "rated 3stars"


def test_agrees_with_the_gold(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "slots.parquet"
    rivals_command(Rival.e2e_slots, shared_data / "e2e_primary.parquet", out)
    report = evaluate(out, EvaluateOptions(resamples=0))
    assert report["fine"]["accuracy"] >= 0.95
    assert report["omission"]["f1"] >= 0.93
    assert report["without_suspect"]["hallucination"]["f1"] >= 0.80
    assert report["rows"] == 7791
