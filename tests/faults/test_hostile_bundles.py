"""Bundles whose description or small files are wrong, with hashes that agree: one line, exit 2."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import BundleError
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
