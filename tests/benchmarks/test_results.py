"""Tables and JSON from figures that anybody can check by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from benchmarks.gpu import settings
from benchmarks.rounds import Group, Measured
from benchmarks.settings import Setting, cpu_overhead, cpu_pairs, cpu_rows


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
    lost = Measured(Setting("lost", "Lost | <peer>", "nowhere:nothing"))
    lost.error = "ImportError: no such thing"
    slow = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]
    fast = [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]]
    return Group(
        "pairs", "A & title", "pairs", 100, "slow", {"pairs": 100},
        [
            measured("slow", [10.0, 20.0, 40.0], slow),
            measured("run-x", [5.0, 4.0, 10.0], fast, ours=True),
            measured("bare-x", [4.0, 4.0, 8.0], fast, bare=True),
            lost,
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


def test_agreement_counts_labels_and_differences(group: Group) -> None:
    by_name = {s["name"]: s for s in results.summarise(group)["settings"]}
    assert (by_name["slow"]["labels"], by_name["slow"]["max_probability"]) == (1.0, 0.0)
    assert (by_name["run-x"]["labels"], by_name["run-x"]["max_probability"]) == (0.5, 0.4)
    assert results.agreement(["OK", "omission"], ["OK", "OK"]) == {"labels": 0.5}
    assert results.agreement(["OK"], [[0.1, 0.2, 0.7]]) == {}
    assert results.agreement([], []) == {}


def test_the_table_is_sorted_and_names_what_is_missing(group: Group) -> None:
    lines = results.table(results.summarise(group)).splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert [row.split(" | ")[0] for row in rows] == ["| *Bare-X*", "| **Run-X**", "| Slow"]
    assert {line.count(" | ") for line in lines if line.startswith("|")} == {7}
    assert lines[-1] == "- Lost | <peer>: ImportError: no such thing"


def test_json_holds_every_round_and_nothing_that_json_lacks(group: Group, tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.json"
    results.write_json(path, {"groups": [results.summarise(group)], "odd": float("nan"), "far": [float("inf")]})
    content = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert content["schema"] == 1
    assert content["odd"] is None and content["far"] == [None]
    rounds = content["groups"][0]["settings"][0]["rounds"]
    assert [r["rate"] for r in rounds] == [10.0, 5.0, 2.5]


GPU = [
    settings.peers("float16", [64, 128], 32) + settings.ours("fp16", None),
    settings.ours("fp16", 16384),
    settings.choices("fp16", [16384, 131072]),
    settings.labels("fp16"),
]


@pytest.mark.parametrize("settings", [cpu_pairs(), cpu_rows(), cpu_overhead(), *GPU])
def test_settings_have_names_of_their_own(settings: list[Setting]) -> None:
    assert len({s.name for s in settings}) == len({s.label for s in settings}) == len(settings)
    for setting in settings:
        module, function = setting.runner.split(":")
        source = (Path(results.__file__).parent / "runners" / f"{module}.py").read_text()
        assert f"\ndef {function}(" in source


def test_rounds_are_those_that_were_run(group: Group) -> None:
    summary = results.summarise(group)
    assert results.rounds_done([summary]) == "3 rounds a setting"
    summary["settings"][0]["rounds"].pop()
    assert results.rounds_done([summary]) == "2 to 3 rounds a setting"
    assert results.rounds_done([]) == "no round"
