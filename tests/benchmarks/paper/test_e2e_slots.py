"""The slot matcher: sentences by hand, then the public outputs against their gold."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.rivals.__main__ import Rival, rivals_command
from benchmarks.paper.rivals.e2e_slots import SlotErrors, judge
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.report import evaluate
from scorer.metric.facts import Triple

PUB = {"eatType": "pub", "area": "riverside", "near": "Raja Indian Cuisine"}


def _judge(slots: dict[str, str], text: str) -> SlotErrors:
    return judge([Triple("Blue Spice", slot, value) for slot, value in slots.items()], text)


def test_missing_added_wrong_and_repeated() -> None:
    found = _judge(PUB | {"food": "French"}, "Blue Spice is a family friendly pub, a pub with Italian food.")
    # Area and near are missing, French became Italian.
    assert found == SlotErrors([1, 2], [3], ["familyFriendly"], repeated=1, slots=5)
    assert found.rate == pytest.approx((2 + 1 + 1 + 1) / 5)
    assert found.omission and found.hallucination
    right = _judge(PUB, "Blue Spice, a pub near Raja Indian Cuisine, lies by the river.")
    assert right == SlotErrors(slots=4), "no Indian food"
    assert right.rate == 0 and not right.omission and not right.hallucination


@pytest.mark.parametrize(
    ("text", "name", "added"),
    [
        ("This is a pub.", "missing", []),
        ("The Vaults is a pub.", "wrong", []),
        ("Blue Spice is a pub, The Vaults is not far.", "said", ["name"]),
    ],
)
def test_the_name(text: str, name: str, added: list[str]) -> None:
    found = _judge({"eatType": "pub"}, text)
    assert (found.name, found.added) == (name, added)
    assert (found.omission, found.hallucination) == (name != "said", name == "wrong" or bool(added))


def test_agrees_with_the_gold(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "slots.parquet"
    rivals_command(Rival.e2e_slots, shared_data / "e2e_primary.parquet", out)
    report = evaluate(out, EvaluateOptions(resamples=0))
    assert report["fine"]["accuracy"] >= 0.985
    assert report["omission"]["f1"] >= 0.99
    assert report["without_suspect"]["hallucination"]["f1"] >= 0.93
    assert report["rows"] == 7791
