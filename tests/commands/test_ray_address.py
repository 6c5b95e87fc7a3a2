"""``--ray`` with and without an address, and with options that exclude it; no Ray is needed for any of this."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from scorer.commands.ending import Command
from scorer.commands.run import RunCommand
from tests.faults import harness


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


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return harness.make_data(tmp_path / "in", shards=1)


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
