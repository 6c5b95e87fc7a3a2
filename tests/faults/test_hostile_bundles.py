"""Bundles made to read other files or to take the process down: refused before there is a session."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper

from scorer.errors import BundleError
from scorer.inference import first_use, model_session, sessions
from scorer.inference.bundle import Bundle
from tests.bundles import digest, graph
from tests.faults.harness import run

Reference = tuple[Path, Path]
LONG_AGO = 1_000_000_000


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file whose reading is noticed."""
    path = tmp_path / "secrets" / "canary"
    path.parent.mkdir()
    path.write_bytes(b"\0" * 4096)
    os.utime(path, (LONG_AGO, LONG_AGO))
    path.read_bytes()
    if path.stat().st_atime == LONG_AGO:
        pytest.skip("this file system does not record when a file was read")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def copy(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def none(*_: Any) -> Any:
        raise AssertionError("a session was created")

    monkeypatch.setattr(sessions, "create_session", none)
    monkeypatch.setattr(model_session, "create_session", none)
    monkeypatch.setattr(first_use, "TRIAL", "tests.faults.no_sessions")
    return Path(shutil.copytree(bundle, tmp_path / "hostile"))


def sealed(folder: Path, name: str = "model.fp32.onnx") -> None:
    """Write the file's hash into bundle.json, as its author would."""
    manifest = json.loads((folder / "bundle.json").read_text())
    if name.endswith(".onnx"):
        manifest["variants"]["fp32"]["sha256"] = digest(folder / name)
    else:
        manifest["files"][name] = digest(folder / name)
    (folder / "bundle.json").write_text(json.dumps(manifest))


def refused(reference: Reference, folder: Path, out: Path, says: str) -> None:
    said = run(reference[0], out, folder, code=2)
    assert says in said
    assert "Traceback" not in said
    assert not out.exists()


@pytest.mark.parametrize("way", ["absolute", "parent", "symlink", "hard link"])
def test_weights_in_another_file(reference: Reference, copy: Path, canary: Path, tmp_path: Path, way: str) -> None:
    location = {"absolute": str(canary), "parent": "../secrets/canary"}.get(way, "weights.bin")
    if way == "symlink":
        (copy / "weights.bin").symlink_to(canary)
    elif way == "hard link":
        os.link(canary, copy / "weights.bin")
    made = graph(400)
    table = next(t for t in made.graph.initializer if t.name == "table")
    table.ClearField("raw_data")
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value=location)
    (copy / "model.fp32.onnx").write_bytes(made.SerializeToString())
    sealed(copy)
    refused(reference, copy, tmp_path / "out", "has weights in another file (external data)")
    assert canary.stat().st_atime == LONG_AGO


def test_operators_of_somebody_else(reference: Reference, copy: Path, tmp_path: Path) -> None:
    made = graph(400)
    made.graph.node.append(helper.make_node("Run", [], ["y"], domain="evil.ops"))
    onnx.save(made, str(copy / "model.fp32.onnx"))
    sealed(copy)
    refused(reference, copy, tmp_path / "out", "'Run' of 'evil.ops'")


@pytest.mark.parametrize(("name", "size"), [("tokenizer.json", 200 << 20), ("model.fp32.onnx", 1 << 40)])
def test_files_far_too_large(reference: Reference, copy: Path, tmp_path: Path, name: str, size: int) -> None:
    with (copy / name).open("ab") as file:
        file.truncate(size)  # sparse: takes no room, and would take hours to hash
    refused(reference, copy, tmp_path / "out", f"{name} has {size:,} bytes")


def test_a_description_far_too_large_or_linked(reference: Reference, copy: Path, canary: Path, tmp_path: Path) -> None:
    (copy / "bundle.json").rename(tmp_path / "elsewhere.json")
    (copy / "bundle.json").symlink_to(tmp_path / "elsewhere.json")
    refused(reference, copy, tmp_path / "out", "is a link or too large")
    (copy / "bundle.json").unlink()
    (copy / "bundle.json").write_bytes(b"[" * (17 << 20))
    refused(reference, copy, tmp_path / "out", "is a link or too large")


@pytest.mark.parametrize("name", ["../secrets/canary", "/etc/passwd", "model.ort", "", ".", "a/b.onnx", "x\0.onnx"])
def test_a_variant_elsewhere(copy: Path, canary: Path, name: str) -> None:
    manifest = json.loads((copy / "bundle.json").read_text())
    manifest["variants"]["fp32"]["file"] = name
    (copy / "bundle.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError):
        Bundle.load(copy).variant("fp32")
    assert canary.stat().st_atime == LONG_AGO


@pytest.mark.parametrize("name", ["../secrets/canary", "/etc/passwd", "setup.py"])
def test_a_file_that_bundles_do_not_have(copy: Path, canary: Path, name: str) -> None:
    manifest = json.loads((copy / "bundle.json").read_text())
    manifest["files"][name] = "0" * 64
    (copy / "bundle.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match="which this program does not know"):
        Bundle.load(copy)
    assert canary.stat().st_atime == LONG_AGO


@pytest.mark.parametrize(
    "content", [b"{}", b"[" * 100_000, b'{"version": "1.0"}', b"\xff\xfe", b'{"model": {"type": "Nothing"}}']
)
def test_a_tokenizer_that_is_none(reference: Reference, copy: Path, tmp_path: Path, content: bytes) -> None:
    (copy / "tokenizer.json").write_bytes(content)
    sealed(copy, "tokenizer.json")
    refused(reference, copy, tmp_path / "out", "is not a tokenizer")


@pytest.mark.parametrize("labels", [["entailment"] * 3, ["a", "b", "c"], [], ["neutral", "entailment"], "entailment"])
def test_labels_that_are_not_the_three(reference: Reference, copy: Path, tmp_path: Path, labels: Any) -> None:
    manifest = json.loads((copy / "bundle.json").read_text())
    (copy / "bundle.json").write_text(json.dumps({**manifest, "labels": labels}))
    refused(reference, copy, tmp_path / "out", "bundle.json: ")


NAMES = ["bundle.json", "tokenizer.json", "probes.parquet", "model.fp32.onnx", "templates.json"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "link to a device"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_regular_file_is_not_waited_for(
    reference: Reference, copy: Path, tmp_path: Path, name: str, kind: str
) -> None:
    if name == "templates.json":
        (copy / name).write_text("{}")
        manifest = json.loads((copy / "bundle.json").read_text())
        manifest["files"][name] = digest(copy / name)
        (copy / "bundle.json").write_text(json.dumps(manifest))
    (copy / name).unlink()
    if kind == "fifo":
        os.mkfifo(copy / name)
    elif kind == "folder":
        (copy / name).mkdir()
    elif kind == "link to a device":
        (copy / name).symlink_to("/dev/zero")
    else:
        try:
            os.mknod(copy / name, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("to make a device takes root")
    refused(reference, copy, tmp_path / "out", name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.slice(0, 0), "must hold 1 to 65,536 pairs"),
        (lambda table: table.set_column(0, "premise", pa.nulls(len(table), pa.string())), "must hold 1 to"),
        (lambda table: table.set_column(0, "premise", pa.array(range(len(table)))), "must hold 1 to"),
        (lambda table: table.drop_columns(["logits"]), "cannot be read"),
        (lambda table: pa.concat_tables([table] * 4096), "must hold 1 to 65,536 pairs"),
        (lambda table: logits(table, [[1.0, 2.0]] * len(table)), "3 finite logits"),
        (lambda table: logits(table, [[float("nan")] * 3] * len(table)), "3 finite logits"),
        (lambda table: logits(table, [None] * len(table)), "cannot be read|3 finite logits"),
    ],
)
def test_probes_that_prove_nothing(copy: Path, change: Callable[[pa.Table], pa.Table], message: str) -> None:
    pq.write_table(change(pq.read_table(copy / "probes.parquet")), copy / "probes.parquet")
    sealed(copy, "probes.parquet")
    with pytest.raises(BundleError, match=rf"probes\.parquet.*({message})"):
        Bundle.load(copy).probes()


def logits(table: pa.Table, values: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index("logits"), "logits", pa.array(values, pa.list_(pa.float32())))
