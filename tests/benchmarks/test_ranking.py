"""The experiment behind the figures of `scorer rank`: its draws, and its arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.ranking import CANDIDATES, Draw, auc, draw, figures, rules

SYSTEMS = ("always", "a", "b", "c", "d", "e")


def rows(inputs: int) -> list[dict[str, Any]]:
    return [
        {
            "mr": f"m{i}",
            "system": system,
            "text": "x" * (k + 1),
            "gold_fine": "OK" if system == "always" or (i + k) % 2 else "omission",
            "human_naturalness": float(k) if k % 2 else None,
        }
        for i in range(inputs)
        for k, system in enumerate(SYSTEMS)
    ]


def test_every_draw_has_texts_of_both_kinds_and_none_of_the_system_that_is_always_right() -> None:
    found = draw(rows(7), 3, np.random.default_rng(1))
    assert len(found) == 21 and {one.mr for one in found} == {f"m{i}" for i in range(7)}
    for one in found:
        systems = [row["system"] for row in one.rows]
        assert len(set(systems)) == CANDIDATES and "always" not in systems
        assert len({row["gold_fine"] == "OK" for row in one.rows}) == 2
    right = [{**row, "gold_fine": "OK"} for row in rows(2)]
    assert draw(right, 3, np.random.default_rng(1)) == []


def test_figures_by_hand() -> None:
    good, bad = {"gold_fine": "OK", "human_naturalness": 4.0}, {"gold_fine": "omission", "human_naturalness": None}
    draws = [Draw("a", [good, bad, bad, good]), Draw("b", [bad, good, bad, bad])]
    found = figures(draws, [[3, 2, 1, 0], [1, 1, 0, 1]])
    assert found["chosen"]["value"] == 0.5  # of equals the first is chosen
    assert auc(draws[0], [3, 2, 1, 0]) == 0.5 and auc(draws[1], [1, 1, 0, 1]) == pytest.approx(2 / 3)
    assert found["auc"]["value"] == pytest.approx((0.5 + 2 / 3) / 2)
    assert (found["human_naturalness"]["n"], found["human_naturalness"]["value"]) == (1, 4.0)
    assert found["human_quality"] == {"n": 0, "value": None, "interval": None}


def test_rules_know_no_facts() -> None:
    ways = rules(rows(7), np.random.default_rng(2))
    texts = rows(1)[1:5]
    assert [int(np.argmax(ways[name](texts))) for name in ("first", "longest")] == [0, 3]
    assert ways["best system"](texts) == pytest.approx([4 / 7, 3 / 7, 4 / 7, 3 / 7])
