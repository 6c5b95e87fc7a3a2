"""How much of its inputs an output holds, from its plan and its receipts."""

from __future__ import annotations

import pytest

from scorer.errors import UsageError
from scorer.scoring.extent import Extent, extent, refuse_unequal
from tests.plans import made_plan

PLANNED = [f"{name}.parquet" for name in "abcde"]
WHOLE = Extent(None, (), 5, True)


@pytest.mark.parametrize(
    ("limit", "rows", "done", "finished", "reason"),
    [
        (11, 10, PLANNED, True, None),  # there are no more than ten
        (10, 10, PLANNED, False, "only the first 10 rows were scored (--limit); the run did not finish"),
        (None, 4, ["a.parquet"], True, "4 of 5 shards were not scored: b.parquet, c.parquet, d.parquet and 1 more"),
    ],
)
def test_what_is_missing(limit: int | None, rows: int, done: list[str], finished: bool, reason: str | None) -> None:
    plan = made_plan(inputs=PLANNED, limit=limit)
    assert extent(plan, rows, done, finished).reason == reason


def test_a_complete_output_compares_with_a_complete_one_alone() -> None:
    limited = Extent(4, (), 5, True)
    lacking = Extent(None, ("a.parquet",), 5, False)
    refuse_unequal(WHOLE, WHOLE, allowed=False)
    refuse_unequal(limited, Extent(4, (), 9, True), allowed=False)
    for out, baseline in ((WHOLE, limited), (lacking, WHOLE), (lacking, limited), (lacking, lacking)):
        with pytest.raises(UsageError, match="partial"):
            refuse_unequal(out, baseline, allowed=False)
        refuse_unequal(out, baseline, allowed=True)
