"""When two runs mean the same, and what one takes over from a plan that is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError
from scorer.run.plan_file import OtherBudgetsError, earlier_budgets, refuse_another_plan

PLAN: dict[str, Any] = {
    "schema": 1,
    "signature": "model:m@1|prec:fp32",
    "signature_parts": {"model": ["m", "1"]},
    "budgets": {"window_rows": 10, "batch_tokens": 512},
    "inputs": {"a": {}},
    "limit": None,
    "settings": {"bundle": "/here"},
}


def test_plans_that_differ_in_where_a_bundle_lies_are_one() -> None:
    refuse_another_plan({**PLAN, "settings": {"bundle": "/there"}}, PLAN, ["1/2"], Path("out"))


def test_budgets_alone_can_be_taken_over() -> None:
    with pytest.raises(OtherBudgetsError) as caught:
        refuse_another_plan({**PLAN, "budgets": {"batch_tokens": 1024}}, PLAN, ["1/2"], Path("out"))
    assert caught.value.budgets == {"batch_tokens": 1024}


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"limit": 3}, "limit"),
        ({"signature": "model:n@1|prec:fp32", "signature_parts": {"model": ["n", "1"]}}, "signature"),
        ({"signature_parts": {"model": ["m", "2"]}}, "signature"),
        ({"limit": 3, "inputs": {}}, "inputs, limit"),
    ],
)
def test_whatever_else_differs_is_named(other: dict[str, Any], named: str) -> None:
    with pytest.raises(OutputError, match=rf"under another plan \(it differs in {named}\)"):
        refuse_another_plan({**PLAN, **other}, PLAN, ["1/2"], Path("out"))


@pytest.mark.parametrize("content", [None, "{", '{"schema": 1}', '{"schema": 1, "budgets": [1]}', "[]"])
def test_a_plan_without_budgets_gives_none(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "_plan.json").write_text(content)
    assert earlier_budgets(tmp_path) == {}


def test_a_plan_gives_its_budgets(tmp_path: Path) -> None:
    (tmp_path / "_plan.json").write_text(json.dumps(PLAN))
    assert earlier_budgets(tmp_path) == PLAN["budgets"]
