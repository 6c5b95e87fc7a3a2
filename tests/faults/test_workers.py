"""Workers of one run (``--join``) that are killed, suspended, interrupted; each by the oracle of all fault tests."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run.options import JoinOptions, RunOptions
from scorer.run.worker import run_joined
from scorer.storage import OutputFolder
from tests.faults import harness
from tests.faults.harness import assert_nothing_half, assert_same, finish, launch, run
from tests.faults.test_killed import CRASHED, FRESH
from tests.pausing import ended, go_on, launch_pausing
from tests.processes import wait_until
from tests.run.test_row_scorer import TextLengthScoring, Told

Reference = tuple[Path, Path]


def crash(data: Path, out: Path, bundle: Path, point: str) -> None:
    """A worker that ends at a point, which the exit code proves was reached."""
    finish(launch(data, out, bundle, "--join", env={"D2T_SCORER_CRASH_AT": point}), CRASHED)
    assert_nothing_half(out)


def claims(out: Path) -> list[str]:
    return [path.name for path in (out / "_claims").glob("*") if not path.name.startswith("worker-")]


def test_the_shard_of_a_killed_worker_is_taken_over_at_once(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    """Its lock tells that it is dead, so its lease of a day is not waited for."""
    data, whole = reference
    out = tmp_path / "out"
    finish(
        launch(data, out, bundle, "--join", "--lease", "86400", env={"D2T_SCORER_CRASH_AT": "output.renamed"}), CRASHED
    )
    assert_nothing_half(out)
    assert claims(out) and len(list(out.glob("_lock.worker-*"))) == 1
    run(data, out, bundle, "--join", "--lease", "86400")
    assert_same(out, whole)
    assert not (out / "_claims").exists() and not list(out.glob("_lock.worker-*"))


def published(out: Path) -> dict[str, bytes]:
    return {name: found for name, found in harness.content(out).items() if not name.startswith("_claims/")}


@pytest.mark.slow
def test_a_worker_is_killed_at_each_step(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    for point in ["card.synced", "card.renamed", *FRESH]:
        if point.startswith("plan."):
            (out / "_plan.json").unlink(missing_ok=True)
        if point.startswith(("run.", "success.")):
            for name in ("_SUCCESS", "_run.json"):
                (out / name).unlink(missing_ok=True)
            (out / "_receipts" / "01.parquet.json").unlink(missing_ok=True)
        # A shard is set aside after two crashes, so that each step begins without a record of those before.
        shutil.rmtree(out / "_claims", ignore_errors=True)
        crash(data, out, bundle, point)
        assert (out / "_SUCCESS").exists() == (point in ("success.renamed", "success.published"))
    shutil.rmtree(out / "_claims", ignore_errors=True)
    run(data, out, bundle, "--join")
    assert_same(out, whole)


@pytest.mark.slow
def test_three_workers_of_which_one_is_killed_at_random(tmp_path: Path, bundle: Path) -> None:
    data = harness.make_data(tmp_path / "in", shards=16, n=200)
    run(data, tmp_path / "whole", bundle)
    rng, killed = random.Random(3), 0
    for turn in range(6):
        out = tmp_path / f"out{turn}"
        workers = [launch(data, out, bundle, "--join") for _ in range(3)]
        wait_until(lambda out=out: bool(list(out.glob("_receipts/**/*.json"))), "no shard is done", 120)
        time.sleep(rng.uniform(0, 0.3))
        workers[0].kill()
        workers[0].communicate()
        killed += workers[0].returncode == -signal.SIGKILL
        for worker in workers[1:]:
            finish(worker)
        assert_same(out, tmp_path / "whole")
    assert killed >= 3


@pytest.mark.slow
def test_a_worker_that_slept_past_its_lease_publishes_nothing(
    reference: Reference, tmp_path: Path, bundle: Path
) -> None:
    data, whole = reference
    out = tmp_path / "out"
    asked = [*harness.command(data, out, bundle)[3:], "--join", "--lease", "2"]
    process = launch_pausing(asked, tmp_path, "/_receipts/", 2)
    assert claims(out), "it holds the next shards"
    said = run(data, out, bundle, "--join", "--lease", "2")
    assert_same(out, whole)
    before = published(out)
    go_on(process)
    code, woken = ended(process)
    assert code == 0, woken
    assert "not published" in woken
    assert published(out) == before, "what woke up changed nothing"
    assert not (out / "_claims").exists()
    assert "waiting for shards that other workers hold" in said


@pytest.mark.slow
def test_sigterm_gives_the_shards_back(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    asked = [*harness.command(data, out, bundle)[3:], "--join", "--lease", "86400"]
    process = launch_pausing(asked, tmp_path, "/_receipts/", 2)
    assert claims(out)
    go_on(process, signal.SIGTERM)
    code, said = ended(process)
    assert code == 143, said
    assert not (out / "_claims").exists() and not list(out.glob("_lock.worker-*"))
    assert_nothing_half(out)
    run(data, out, bundle, "--join")
    assert_same(out, whole)


@pytest.mark.slow
def test_a_poisoned_shard_is_set_aside_after_two_crashes(tmp_path: Path, bundle: Path) -> None:
    data, out = harness.make_data(tmp_path / "in", shards=2), tmp_path / "out"
    (data / "deep" / "00.parquet").unlink()
    for _ in range(2):
        crash(data, out, bundle, "output.written")
    said = run(data, out, bundle, "--join", code=3)
    assert "2 workers crashed while they scored it" in said and "1 shards failed" in said
    assert json.loads((out / "_failed" / "01.parquet.json").read_text())["kind"] == "crashed"
    run(data, out, bundle, "--join")  # the next run tries it again
    assert (out / "_SUCCESS").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--protocol", "nlgi_eval"], "signature: protocol: paper → nlgi_eval"),
        (["--templates", "templates.json"], "signature: templates:"),
        (["--bundle", "other"], "signature: model:"),
    ],
)
def test_a_worker_that_means_another_run_is_refused(
    reference: Reference, tmp_path: Path, bundle: Path, more: list[str], says: str
) -> None:
    (tmp_path / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')
    other = Path(shutil.copytree(bundle, tmp_path / "other"))
    described = json.loads((other / "bundle.json").read_text())
    (other / "bundle.json").write_text(json.dumps(described | {"name": "other"}))
    out = Path(shutil.copytree(reference[1], tmp_path / "out"))
    run(reference[0], out, bundle, "--join")
    with OutputFolder.open(out, shared=True) as folder:
        with folder.brief():
            folder.join_worker()
        more = [str(tmp_path / one) if (tmp_path / one).exists() else one for one in more]
        said = run(reference[0], out, bundle, "--join", *more, code=2)
    assert says in said and "the plan of another run" in said
    assert_same(out, reference[1])


@pytest.mark.slow
def test_ten_thousand_shards(tmp_path: Path) -> None:
    """One worker; the totals count every one, and the folder of claims is empty at the end."""
    data, out, shards = tmp_path / "in", tmp_path / "out", 10_000
    for i in range(shards):
        path = data / f"{i // 1000}" / f"{i:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        if i:
            path.hardlink_to(data / "0" / "00000.parquet")
        else:
            pq.write_table(pa.table({"text": ["a", None, "ccc"]}), path)
    join = JoinOptions()
    options = RunOptions((str(data),), out, max_error_rate=0.5, join=join)
    outcome = run_joined(options, join, TextLengthScoring(), Told())
    assert outcome.exit_code == 0
    assert outcome.summary.shards.done == shards and outcome.summary.counts.rows.all == 3 * shards
    assert len(list(out.rglob("*.parquet"))) == shards and not (out / "_claims").exists()
