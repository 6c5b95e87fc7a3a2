"""Parts of one run, side by side over one output folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.run.survey import part_of
from scorer.scoring.plan import Plan
from scorer.storage import RunOutput
from tests.faults import harness
from tests.faults.harness import CRASHED, assert_same, bytes_of, finish, launch, run, summary

Reference = tuple[Path, Path]


@pytest.mark.slow
def test_three_parts_at_once_come_to_what_one_run_does(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    for part in [launch(data, out, bundle, "--part", f"{k}/3") for k in (1, 2, 3)]:
        finish(part)
    assert_same(out, whole)
    assert summary(out)["shards"]["done"] == 8
    assert "missing" not in summary(out)["shards"]
    # The whole run afterwards, and a part again, find nothing to do.
    before = {path: path.stat().st_mtime_ns for path in harness.outputs(out).values()}
    run(data, out, bundle)
    run(data, out, bundle, "--part", "2/3")
    assert before == {path: path.stat().st_mtime_ns for path in harness.outputs(out).values()}
    assert_same(out, whole)


def test_one_part_after_another_says_what_is_missing(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    names = sorted(bytes_of(whole))
    for k in (1, 2, 3):
        run(data, out, bundle, "--part", f"{k}/3")
        there = [name for name in names if part_of(name, 3) <= k]
        assert sorted(bytes_of(out)) == there
        assert summary(out)["shards"]["done"] == len(there)
        assert summary(out)["shards"].get("missing", 0) == len(names) - len(there)
        assert (out / "_SUCCESS").exists() == (k == 3)
        harness.assert_equation(out)
    assert_same(out, whole)


def test_a_killed_part_is_resumed_beside_the_others(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    crashing = launch(data, out, bundle, "--part", "1/3", env={"D2T_SCORER_CRASH_AT": "output.renamed"})
    others = [launch(data, out, bundle, "--part", f"{k}/3") for k in (2, 3)]
    finish(crashing, CRASHED)
    for other in others:
        finish(other)
    harness.assert_nothing_half(out)
    assert not (out / "_SUCCESS").exists()
    run(data, out, bundle, "--part", "1/3")
    assert_same(out, whole)


def test_a_damaged_output_of_another_part_is_not_counted(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    mine, theirs = (next(n for n in sorted(bytes_of(whole)) if part_of(n, 2) == k) for k in (1, 2))
    (out / "_receipts" / f"{mine}.json").unlink()
    damaged = bytearray((out / theirs).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (out / theirs).write_bytes(damaged)
    run(data, out, bundle, "--part", "1/2")
    assert summary(out)["shards"]["missing"] == 1
    assert not (out / "_SUCCESS").exists()
    run(data, out, bundle, "--part", "2/2")
    assert_same(out, whole)


def test_a_bad_shard_fails_its_own_part_and_whoever_is_last(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data = Path(shutil.copytree(reference[0], tmp_path / "in"))
    name = next(n for n in sorted(bytes_of(reference[1])) if part_of(n, 2) == 1)
    (data / name).write_bytes((data / name).read_bytes()[:-30])
    out = tmp_path / "out"
    run(data, out, bundle, "--part", "1/2", code=3)
    said = run(data, out, bundle, "--part", "2/2", code=3)
    assert "1 shards failed" in said
    assert summary(out)["shards"] == {
        "done": 7,
        "skipped": 0,
        "failed": 1,
    }
    assert not (out / "_SUCCESS").exists()
    shutil.copy(reference[0] / name, data / name)
    run(data, out, bundle, "--part", "1/2")
    assert (out / "_SUCCESS").exists()


class TestBesideAHeldPart:
    """While part 1 of 2 runs under the plan of the reference."""

    @pytest.fixture
    def out(self, reference: Reference, tmp_path: Path, bundle: Path) -> Iterator[Path]:
        run(reference[0], tmp_path / "out", bundle, "--part", "1/2")
        with RunOutput.open(tmp_path / "out", part=(1, 2)):
            yield tmp_path / "out"

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ([], "held by part 1/2 (pid "),
            (["--part", "1/2"], "held by part 1/2 (pid "),
            (["--part", "3/3"], "held by part 1/2 (pid "),
            (["--part", "2/2", "--protocol", "nlgi_eval"], "under another plan (it differs in signature)"),
            (["--part", "2/2", "--limit", "99"], "it differs in inputs, limit"),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, reference: Reference, out: Path, bundle: Path, more: list[str], says: str
    ) -> None:
        before = harness.content(out)
        result = CliRunner().invoke(app, harness.command(reference[0], out, bundle, *more)[3:])
        assert result.exit_code == 2, result.output
        assert says in result.stderr
        assert harness.content(out) == before

    def test_what_fits_runs(self, reference: Reference, out: Path, bundle: Path) -> None:
        run(reference[0], out, bundle, "--part", "2/2")
        assert_same(out, reference[1])

    def test_the_budgets_of_the_running_part_are_taken_over(
        self, reference: Reference, out: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = json.loads((out / "_plan.json").read_text())
        plan["budgets"]["window_rows"] = 17
        (out / "_plan.json").write_text(json.dumps(plan))
        real, looks = Plan.usable, []

        def usable(found: Any, *say: Any) -> Plan | None:
            """The first look is before the other has begun."""
            looks.append(found)
            return real(found, *say) if len(looks) > 1 else None

        monkeypatch.setattr(Plan, "usable", usable)
        result = CliRunner().invoke(app, harness.command(reference[0], out, bundle, "--part", "2/2")[3:])
        assert result.exit_code == 0, result.output
        assert json.loads((out / "_plan.json").read_text()) == plan


def test_a_part_is_refused_while_a_whole_run_holds(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    out = Path(shutil.copytree(reference[1], tmp_path / "out"))
    with RunOutput.open(out):
        said = run(reference[0], out, bundle, "--part", "1/2", code=2)
        assert "held by another run (pid " in said
