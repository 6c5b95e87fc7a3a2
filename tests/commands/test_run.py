"""``scorer plan``, and ``--ray`` with and without an address; no Ray is needed for any of this."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.commands.ending import Command
from scorer.commands.run import RunCommand
from scorer.run import planned as plan_module
from tests.bundles import make_bundle
from tests.faults import harness
from tests.run.calls import run, scorer


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("plan") / "tiny", templates={"eatType": "<subject> is a <object>."})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        texts = ["The Mill is a pub.", "", None, "pub " * 300, f"N{i} serves food."]
        mrs = ["name[The Mill], eatType[pub], area[riverside]"] * 5
        pq.write_table(pa.table({"text": texts * 20, "mr": mrs * 20}), folder / f"{i}.parquet")
    return folder


def plan(*arguments: Any) -> dict[str, Any]:
    return json.loads(scorer("plan", *arguments, "--json").stdout)


def test_a_plan_says_what_the_run_then_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    planned = plan(data, "--bundle", bundle, "--out", out)
    assert not out.exists()
    done = run(data, out, bundle)
    assert planned["signature"] == done["signature"]
    assert (planned["shards"], planned["rows"], planned["rows_to_score"], planned["done"]) == (3, 300, 300, 0)
    assert planned["sampled_rows"] == 300 and planned["first_facts"] == [
        "The Mill is a pub.",
        "The area of The Mill is riverside.",
    ]
    assert planned["errors"] == {"null_text": 60}
    assert (planned["facts"], planned["checks"]) == (done["facts"], done["checks"]["all"])
    assert planned["pairs_per_s"] > 0 and planned["seconds"] > 0 and planned["refused"] is None
    again = plan(data, "--bundle", bundle, "--out", out)
    assert (again["done"], again["rows_to_score"], again["seconds"]) == (3, 0, None)
    said = scorer("plan", data, "--bundle", bundle, "--out", out, "--checks", "hallucination").stdout
    assert "done: 0 shards; 300 rows to score" in said and "refused: " in said and "--rescore" in said


def test_facts_are_those_of_a_sample(data: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "SAMPLE_ROWS", 20)
    said = scorer("plan", data, "--bundle", bundle).stdout
    assert "rows: 300" in said and "sample of 60 rows: " in said
    assert "  null_text: 12 rows" in said and "time: about " in said


def test_unusable_files_are_named_and_alone_end_it_as_a_run_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    broken = data / "x.parquet"
    broken.write_bytes(b"nothing")
    assert list(plan(data, "--bundle", bundle)["unreadable"]) == ["x.parquet"]
    planned = scorer("plan", broken, "--bundle", bundle, code=2)
    ran = scorer("run", broken, "--bundle", bundle, "--out", tmp_path / "out", code=2)
    assert "1 unusable" in planned.stdout and planned.stderr == ran.stderr and "is not a Parquet file" in ran.stderr


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("data --ray", "data --ray auto"),
        ("--ray data --out o", "--ray auto data --out o"),
        ("--ray --out o", "--ray auto --out o"),
        ("--ray 10.0.0.1:6379 data", None),
        ("--ray [::1]:6379 data", None),
        ("--ray auto data", None),
        ("--ray ray://head:10001 data", None),
        ("--ray=head:6379 data", None),
        ("data -- --ray", None),
    ],
)
def test_an_address_may_be_left_out(given: str, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Command, "parse_args", lambda self, ctx, args: args)
    assert RunCommand("run").parse_args(None, given.split()) == (found or given).split()


def test_options_that_exclude_it(data: Path, tmp_path: Path, real_workers: None) -> None:
    for more, says in (
        ("--ray --devices cpu:2", "give one of the two"),
        ("--devices cpu:2 --device cpu", "leave --device out"),
        ("--ray-cpus 2", "add --ray"),
    ):
        assert says in harness.run(data, tmp_path / "out", Path("embedded"), *more.split(), code=2)
    assert not (tmp_path / "out").exists()


def test_without_ray_and_without_a_cluster(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_workers: None
) -> None:
    out = tmp_path / "out"
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'd2t-scorer[ray]'" in harness.run(data, out, Path("embedded"), "--ray", code=2)
    assert "Ray Client is not supported" in harness.run(data, out, Path("embedded"), "--ray", "ray://a:1", code=2)
    monkeypatch.setitem(sys.modules, "ray", sys)  # it is not asked for anything
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert "nothing answers there" in harness.run(data, out, Path("embedded"), "--ray", address, code=2)
    assert not out.exists()
