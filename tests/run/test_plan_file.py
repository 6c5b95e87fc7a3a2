"""When two runs mean the same, and what one takes over from a plan that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from scorer.errors import OutputError
from scorer.run.plan_file import OtherBudgetsError, common_plan
from scorer.scoring.plan import Budgets, Plan
from scorer.scoring.signature import Signature
from tests.plans import made_plan

SIGNATURE = Signature("model:m@1|prec:fp32", '{"model":["m","1"]}')
PLAN = made_plan(
    inputs=["a"],
    signature_line=SIGNATURE.line,
    signature_parts=SIGNATURE.parts,
    budgets=Budgets(window_rows=10, batch_tokens=512),
    settings={"bundle": "/here"},
)


def test_plans_that_differ_in_where_a_bundle_lies_are_one() -> None:
    there = replace(PLAN, settings={"bundle": "/there"})
    assert common_plan(there, PLAN, ["_lock.1-of-2"], Path("out")) == there


def test_budgets_alone_can_be_taken_over() -> None:
    with pytest.raises(OtherBudgetsError) as caught:
        common_plan(replace(PLAN, budgets=Budgets(batch_tokens=1024)), PLAN, ["_lock.1-of-2"], Path("out"))
    assert caught.value.budgets == Budgets(batch_tokens=1024)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (replace(PLAN, signature_parts={"model": ["m", "2"]}), "signature"),
        (replace(PLAN, limit=3, inputs={}), "inputs, limit"),
        (None, "budgets, device, inputs, limit, parts, provider, reuse, runtime, signature, split_rows, versions"),
    ],
)
def test_whatever_else_differs_is_named(other: Plan | None, named: str) -> None:
    with pytest.raises(OutputError, match=rf"under another plan \(it differs in {named}\)"):
        common_plan(other, PLAN, ["_lock.1-of-2"], Path("out"))
