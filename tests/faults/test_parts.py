"""Parts of one run, side by side over one output folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scorer.run.survey import part_of
from scorer.scoring.plan import Plan
from scorer.storage import RunOutput
from tests.faults import harness
from tests.faults.harness import CRASHED, Trial, bytes_of, finish, summary
from tests.storage.backends import files


@pytest.mark.slow
def test_three_parts_at_once_come_to_what_one_run_does(trial: Trial) -> None:
    for part in [trial.launch("--part", f"{k}/3") for k in (1, 2, 3)]:
        finish(part)
    trial.check()
    assert summary(trial.out)["shards"]["done"] == 8
    assert "missing" not in summary(trial.out)["shards"]


def test_one_part_after_another_says_what_is_missing(trial: Trial) -> None:
    names = sorted(bytes_of(trial.whole))
    for k in (1, 2, 3):
        trial.run("--part", f"{k}/3")
        there = [name for name in names if part_of(name, 3) <= k]
        assert sorted(bytes_of(trial.out)) == there
        assert summary(trial.out)["shards"]["done"] == len(there)
        assert summary(trial.out)["shards"].get("missing", 0) == len(names) - len(there)
        assert trial.succeeded == (k == 3)
        harness.assert_equation(trial.out)
    trial.check()


def test_a_killed_part_is_resumed_beside_the_others(trial: Trial) -> None:
    crashing = trial.launch("--part", "1/3", env={"D2T_SCORER_CRASH_AT": "output.renamed"})
    others = [trial.launch("--part", f"{k}/3") for k in (2, 3)]
    finish(crashing, CRASHED)
    for other in others:
        finish(other)
    harness.assert_nothing_half(trial.out)
    assert not trial.succeeded
    trial.resume("--part", "1/3")


def test_a_damaged_output_of_another_part_is_not_counted(trial: Trial) -> None:
    out = trial.finished()
    mine, theirs = (next(n for n in sorted(bytes_of(out)) if part_of(n, 2) == k) for k in (1, 2))
    (out / "_receipts" / f"{mine}.json").unlink()
    damaged = bytearray((out / theirs).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (out / theirs).write_bytes(damaged)
    trial.run("--part", "1/2")
    assert summary(out)["shards"]["missing"] == 1
    assert not trial.succeeded
    trial.resume("--part", "2/2")


def test_a_bad_shard_fails_its_own_part_and_whoever_is_last(trial: Trial) -> None:
    path = trial.own_data() / next(n for n in sorted(bytes_of(trial.whole)) if part_of(n, 2) == 1)
    good = path.read_bytes()
    path.write_bytes(good[:-30])
    trial.run("--part", "1/2", code=3)
    assert "1 shards failed" in trial.run("--part", "2/2", code=3)
    assert summary(trial.out)["shards"] == {"done": 7, "skipped": 0, "failed": 1}
    assert not trial.succeeded
    path.write_bytes(good)
    trial.run("--part", "1/2")
    assert trial.succeeded


@pytest.fixture
def held(trial: Trial) -> Iterator[Trial]:
    """Part 1 of 2 runs under the plan of the reference."""
    trial.run("--part", "1/2")
    with RunOutput.open(trial.out, part=(1, 2)):
        yield trial


def test_a_part_under_another_plan_than_a_running_one_is_refused(held: Trial) -> None:
    before = files(held.out)
    assert "it differs in inputs, limit" in held.run("--part", "2/2", "--limit", "99", code=2)
    assert files(held.out) == before


def test_the_budgets_of_the_running_part_are_taken_over(held: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = json.loads((held.out / "_plan.json").read_text())
    plan["budgets"]["window_rows"] = 17
    (held.out / "_plan.json").write_text(json.dumps(plan))
    real, looks = Plan.usable, []

    def usable(found: Any, *say: Any) -> Plan | None:
        """The first look is before the other has begun."""
        looks.append(found)
        return real(found, *say) if len(looks) > 1 else None

    monkeypatch.setattr(Plan, "usable", usable)
    held.run("--part", "2/2")
    assert json.loads((held.out / "_plan.json").read_text()) == plan
