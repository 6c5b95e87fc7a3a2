"""What every node of ``--ray`` must see: the same output folder, inputs, bundle and templates."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.errors import InputError, OutputError
from scorer.run.options import RunOptions
from scorer.run.ray.paths import FolderProbe, SharedPaths, StoreProbe, shared_paths
from scorer.storage import OutputFolder, inspect_output
from scorer.storage.objects import store as stores
from scorer.storage.objects.uri import StoreUri


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number in range(7):
        (tmp_path / "in" / f"{number}.parquet").write_text("x" * number)
    (tmp_path / "bundle.json").write_text("{}")
    return tmp_path


def paths(base: Path, probe: FolderProbe) -> SharedPaths:
    return shared_paths(RunOptions((str(base / "in"),), base / "out"), [base / "bundle.json"], probe)


def test_the_machine_of_the_driver_sees_everything(base: Path) -> None:
    with FolderProbe(base / "out") as probe:
        probe.write()
        found = paths(base, probe)
        assert [Path(path).name for path, *_ in found.inputs] == ["0.parquet", "2.parquet", "4.parquet", "6.parquet"]
        assert found.missing() == ""
        assert inspect_output(base / "out") == "empty", "a run may begin in a folder with a probe alone"
        with OutputFolder.open(base / "out") as folder:
            assert folder.sweep_temporary() == [probe.path.name], "a driver that was killed leaves no file for ever"
        probe.write()
    assert not [path for path in (base / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda base: next((base / "out").iterdir()).unlink(), "is not the folder of the driver (No such file"),
        (lambda base: next((base / "out").iterdir()).write_text("x"), "out is another folder on this node"),
        (lambda base: (base / "in/0.parquet").unlink(), "0.parquet cannot be read on this node (No such file"),
        (lambda base: (base / "in/6.parquet").write_text("longer than before"), "6.parquet is another file"),
        (lambda base: os.utime(base / "in/4.parquet", (1, 1)), "4.parquet is another file on this node (size or time"),
        (lambda base: (base / "bundle.json").unlink(), "bundle.json cannot be read on this node (No such file"),
        (lambda base: (base / "bundle.json").write_text("[]"), "bundle.json has other content on this node"),
    ],
)
def test_what_another_machine_does_not_see_is_named(base: Path, change: Callable[[Path], object], says: str) -> None:
    with FolderProbe(base / "out") as probe:
        probe.write()
        found = paths(base, probe)
        change(base)
        assert re.search(re.escape(says), found.missing())


def test_what_the_driver_does_not_see_is_refused_first(base: Path) -> None:
    probe = FolderProbe(base / "out")
    (base / "bundle.json").unlink()
    with pytest.raises(OutputError, match=r"cannot read .*bundle\.json"):
        paths(base, probe)
    with pytest.raises(InputError):
        shared_paths(RunOptions((str(base / "absent"),), base / "out"), [], probe)
    assert not (base / "out").exists()


def test_a_node_with_another_store_is_told_so(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores in memory stand for what the environments of two nodes name."""
    pytest.importorskip("obstore", reason="the extra `objects` is not installed")
    from obstore.store import MemoryStore

    out, bucket = StoreUri("s3", "bucket", "out"), MemoryStore()
    monkeypatch.setattr(stores, "connect", lambda uri, *, patient=True: bucket)
    with StoreProbe(out) as probe:
        assert not probe.exists()
        for _ in range(2):
            probe.write()
        found = shared_paths(RunOptions((str(base / "in"),), out), [base / "bundle.json"], probe)
        assert probe.exists() and found.missing() == ""
        monkeypatch.setattr(stores, "connect", lambda uri, *, patient=True: MemoryStore())
        assert "s3://bucket/out is in another store on this node; set credentials" in found.missing()

        def refuse(uri: StoreUri, *, patient: bool = True) -> None:
            raise stores.StoreError("no credentials")

        monkeypatch.setattr(stores, "connect", refuse)
        assert "s3://bucket/out cannot be used on this node (no credentials)" in found.missing()
    assert not probe.exists()
