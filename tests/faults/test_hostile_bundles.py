"""Bundles that are wrong with hashes that agree; checkpoints made to run code, read other files or exhaust memory."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export.source import find_source
from scorer.errors import BundleError, CheckpointError
from scorer.inference.bundle import Bundle
from tests.bundles import digest, edit_manifest
from tests.faults.harness import Trial


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "damaged"))


def described(bundle: Path, part: str) -> dict[str, Any]:
    return dict(json.loads((bundle / "bundle.json").read_text())[part])


@pytest.mark.parametrize("name", ["../secrets/canary", "/etc/passwd", "model.ort", "", ".", "a/b.onnx", "x\0.onnx"])
def test_a_variant_elsewhere(copy: Path, name: str) -> None:
    edit_manifest(copy, variants={"fp32": described(copy, "variants")["fp32"] | {"file": name}})
    with pytest.raises(BundleError):
        Bundle.load(copy).variant("fp32")


@pytest.mark.parametrize("name", ["../secrets/canary", "/etc/passwd", "setup.py"])
def test_a_file_that_bundles_do_not_have(copy: Path, name: str) -> None:
    edit_manifest(copy, files=described(copy, "files") | {name: "0" * 64})
    with pytest.raises(BundleError, match=r"bundle\.json is damaged: .*files"):
        Bundle.load(copy)


@pytest.mark.parametrize("labels", [["entailment"] * 3, ["a", "b", "c"], [], ["neutral", "entailment"], "entailment"])
def test_labels_that_are_not_the_three(trial: Trial, copy: Path, labels: Any) -> None:
    edit_manifest(copy, scheme=described(copy, "scheme") | {"labels": labels})
    trial.bundle = copy
    assert "bundle.json is damaged: scheme" in trial.run(code=2)
    assert not trial.out.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.slice(0, 0), "must hold pairs"),
        (lambda table: table.set_column(0, "premise", pa.nulls(len(table), pa.string())), "must hold pairs"),
        (lambda table: table.drop_columns(["logits"]), "cannot be read"),
        (lambda table: logits(table, [[1.0, 2.0]] * len(table)), "3 finite logits"),
        (lambda table: logits(table, [[float("nan")] * 3] * len(table)), "3 finite logits"),
    ],
)
def test_probes_that_prove_nothing(copy: Path, change: Callable[[pa.Table], pa.Table], message: str) -> None:
    pq.write_table(change(pq.read_table(copy / "probes.parquet")), copy / "probes.parquet")
    edit_manifest(copy, files=described(copy, "files") | {"probes.parquet": digest(copy / "probes.parquet")})
    with pytest.raises(BundleError, match=rf"probes\.parquet.*({message})"):
        Bundle.load(copy).probes()


def logits(table: pa.Table, values: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index("logits"), "logits", pa.array(values, pa.list_(pa.float32())))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint as far as its files go; what is in them is not looked at here."""
    made = tmp_path / "checkpoint"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    (made / "tokenizer.json").write_text("{}")
    find_source(str(made), None, lambda _: None)
    return made


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = str(mark)

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self._mark,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "model.ckpt"])
def test_pickles_are_not_opened(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Bomb(tmp_path / "mark")))
    with pytest.raises(CheckpointError, match="can run code"):
        find_source(str(folder), None, lambda _: None)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_its_own_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}))
    (folder / "evil.py").write_text("raise SystemExit")
    with pytest.raises(CheckpointError, match="auto_map"):
        find_source(str(folder), None, lambda _: None)


def test_tensors_that_lie_outside_the_file(folder: Path) -> None:
    from export.checkpoint import _tensors

    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="is not a readable safetensors file"):
        _tensors(folder / "model.safetensors")
