"""Parts of one run, each with an output of its own."""

from __future__ import annotations

from pathlib import Path

from scorer.storage.plan import belongs_to_part
from tests.faults import harness
from tests.faults.harness import CRASHED, Trial, bytes_of, finish, summary


def place(trial: Trial, number: int) -> Path:
    return trial.base / "parts" / f"part-{number}"


def start(trial: Trial, number: int, count: int, **environment: str) -> None:
    trial.out = place(trial, number)
    finish(trial.launch("--part", f"{number}/{count}", env=environment), CRASHED if environment else 0)


def test_parts_together_have_what_one_run_has_and_are_resumed_by_themselves(trial: Trial) -> None:
    start(trial, 1, 3)
    start(trial, 2, 3, D2T_SCORER_CRASH_AT="output.renamed")
    harness.assert_nothing_half(trial.out)
    assert not trial.succeeded
    start(trial, 2, 3)
    start(trial, 3, 3)
    found: dict[str, bytes] = {}
    for number in (1, 2, 3):
        out = place(trial, number)
        harness.assert_equation(out)
        assert (out / "_SUCCESS").exists() and all(belongs_to_part(name, number, 3) for name in bytes_of(out))
        assert summary(out)["shards"]["done"] == len(bytes_of(out))
        found |= bytes_of(out)
    assert found == bytes_of(trial.whole)
