"""Tables and JSON from figures that anybody can check by hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import results
from benchmarks.rounds import Group, Measured
from benchmarks.settings import Setting


def measured(name: str, seconds: list[float], answers: Any = None, **fields: Any) -> Measured:
    one = Measured(Setting(name, name.title(), "nowhere:nothing", **fields))
    one.rounds = [
        {"round": i, "seconds": s, "load1": 1.0, "others": 0.0, "peak_mb": 100 + i} for i, s in enumerate(seconds)
    ]
    one.opened = {"chosen": {"batch": 16}, "versions": {"numpy": "2.0"}, "load_seconds": 1.0}
    one.answers = answers
    return one


@pytest.fixture
def group() -> Group:
    slow = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]
    fast = [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]]
    return Group(
        "pairs", "A & title", "pairs", 100, "slow", {"pairs": 100},
        [
            measured("slow", [10.0, 20.0, 40.0], slow),
            measured("run-x", [5.0, 4.0, 10.0], fast, ours=True),
            measured("bare-x", [4.0, 4.0, 8.0], fast, bare=True),
        ],
    )  # fmt: skip


def test_ratios_are_taken_within_a_round(group: Group) -> None:
    by_name = {s["name"]: s for s in results.summarise(group)["settings"]}
    assert by_name["slow"]["median"] == 5.0
    assert (by_name["run-x"]["lowest"], by_name["run-x"]["median"], by_name["run-x"]["highest"]) == (10.0, 20.0, 25.0)
    assert by_name["run-x"]["ratio"] == 4.0  # of 2, 5 and 4: not the ratio of the medians
    assert by_name["run-x"]["of_bare"] == 0.8  # of 0.8, 1 and 0.8
    assert "of_bare" not in by_name["slow"]
    assert by_name["slow"]["peak_mb"] == 102
