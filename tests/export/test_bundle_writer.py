"""The whole road: a checkpoint on disk to a bundle that the scorer opens, and all that must stop it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow.parquet as pq
import pytest
from transformers import RobertaForSequenceClassification, RobertaTokenizerFast

from export import bundle_writer, export_bundle, parity
from export.source import sha256
from scorer.errors import BundleError, MissingDependencyError, OutputError, UsageError
from tests.export.checkpoints import LAYERS, expected_logits, exported
from tests.export.contrib_operators import evaluator
from tests.run import calls


@pytest.fixture(scope="module")
def manifest(bundle: Path) -> dict[str, Any]:
    return dict(json.loads((bundle / "bundle.json").read_text(encoding="utf-8")))


def test_the_manifest_says_what_the_bundle_is(manifest: dict[str, Any], checkpoint: Path) -> None:
    assert (manifest["schema"], manifest["name"], manifest["max_length"]) == (3, "tiny-nli", 128)
    labels = ["entailment", "neutral", "contradiction"]
    assert manifest["scheme"] == {"kind": "nli", "labels": labels, "supported": None, "threshold": 0.5}
    layout = manifest["pair_layout"]
    assert (layout["prefix"], layout["separator"], layout["suffix"], layout["pad_id"]) == ([0], [2, 2], [2], 1)
    assert manifest["architecture"] == {
        "model_type": "roberta", "class": "RobertaForSequenceClassification", "layers": 2, "hidden_size": 32,
        "heads": 4, "intermediate_size": 48, "vocab_size": 700,
        "parameters": RobertaForSequenceClassification.from_pretrained(checkpoint).num_parameters(),
    }  # fmt: skip
    source = manifest["source"]
    assert (source["checkpoint"], source["revision"], source["random_init"]) == ("tiny-nli", None, False)
    assert source["files"]["model.safetensors"] == sha256(checkpoint / "model.safetensors")
    assert str(checkpoint.parent) not in json.dumps(manifest)
    assert any("int8" in reason for reason in manifest["forced"]), "what --force kept"


@pytest.mark.usefixtures("few_probes")
def test_languages_are_those_that_are_named_and_otherwise_of_the_card(checkpoint: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoint, tmp_path / "checkpoint"))
    (copy / "README.md").write_text("---\nlanguage: [de]\n---\n", encoding="utf-8")
    of_card = exported(copy, tmp_path / "of-card", precisions=["fp32"])
    named = exported(copy, tmp_path / "named", precisions=["fp32"], languages=["en", "fr"])
    assert (of_card.languages, named.languages) == (("de",), ("en", "fr"))


def test_every_file_is_there_with_its_hash_and_nothing_else(bundle: Path, manifest: dict[str, Any]) -> None:
    hashes = dict(manifest["files"])
    for key, variant in manifest["variants"].items():
        assert (variant["precision"], variant["opset"]) == (key.partition(".")[0], 17)
        assert variant["bytes"] == (bundle / variant["file"]).stat().st_size
        hashes |= {variant["file"]: variant["sha256"]} | variant["external"]
    assert hashes == {path.name: sha256(path) for path in bundle.iterdir() if path.name != "bundle.json"}
    assert set(manifest["variants"]) == {"fp32", "fp16", "int8", "fp16.packed"}


def test_the_packed_form_adds_a_graph_and_no_weights(bundle: Path, manifest: dict[str, Any]) -> None:
    halves = [variant for variant in manifest["variants"].values() if variant["precision"] == "fp16"]
    assert [variant["layout"] for variant in halves] == ["padded", "packed"]
    assert {tuple(variant["external"]) for variant in halves} == {("model.half.data",)}
    # The padded form has parts of its own for the last layer; table of positions from its third row on.
    weights = 2 * manifest["architecture"]["parameters"]
    assert (bundle / "model.half.data").stat().st_size < 1.5 * weights + 4096 * 60
    assert halves[1]["fused"]["PackedMultiHeadAttention"] == LAYERS and "Attention" not in halves[1]["fused"]
    assert halves[1]["parity"] is None or halves[1]["parity"]["provider"] == "CUDAExecutionProvider"


@pytest.mark.slow  # exports once more
@pytest.mark.usefixtures("few_probes")
@pytest.mark.parametrize("kernel", [True, False])
def test_each_form_of_fp16_is_measured_where_a_gpu_starts(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: bool
) -> None:
    """The CPU stands in for the GPU, and for its attention the operator in numpy, or none, which ends no export."""
    real = parity._session

    def session(path: Path, kind: str) -> Any:
        numpy_runs = path.name == "model.fp16.packed.onnx" and kernel
        return evaluator(onnx.load(str(path))) if numpy_runs else real(path, "cpu")

    monkeypatch.setattr(parity, "_session", session)
    made = exported(checkpoint, tmp_path / "out", precisions=("fp16",)).variants
    assert {key: one.parity is not None for key, one in made.items()} == {"fp16": True, "fp16.packed": kernel}
    for figures in [one.parity for one in made.values() if one.parity is not None]:
        assert figures["provider"] == "CUDAExecutionProvider"
        assert figures["label_agreement"] > 0.9 and 0 < figures["bound"] < 0.2


def test_probes_hold_the_logits_of_transformers(bundle: Path, checkpoint: Path) -> None:
    table = pq.read_table(bundle / "probes.parquet")
    assert [str(field.type) for field in table.schema] == [
        "string", "string", "int32", "fixed_size_list<element: float>[3]"
    ]  # fmt: skip
    assert table["tokens"].to_pylist() == sorted(table["tokens"].to_pylist()) and table.num_rows == 512
    rows = table.to_pylist()[::40]
    pairs = [(row["premise"], row["hypothesis"]) for row in rows]
    encoded = RobertaTokenizerFast.from_pretrained(checkpoint)(pairs)["input_ids"]
    assert [row["tokens"] for row in rows] == list(map(len, encoded))
    np.testing.assert_allclose([row["logits"] for row in rows], expected_logits(checkpoint, pairs), atol=1e-5)
    labels = np.array(table["logits"].to_pylist()).argmax(axis=1)
    assert (np.bincount(labels, minlength=3) > 50).all()  # else agreement would say nothing


@pytest.mark.slow  # exports once more, in a process of its own
def test_two_exports_give_the_same_bytes(bundle: Path, checkpoint: Path, tmp_path: Path) -> None:
    """The second in a process of its own, with other hash seeds and another folder; and nothing of it on stdout."""
    code = (
        "import sys; from pathlib import Path; from export import export_bundle\n"
        "export_bundle(sys.argv[1], Path(sys.argv[2]), force=True)"
    )
    out = tmp_path / "some" / "where else"
    done = subprocess.run(
        [sys.executable, "-c", code, str(checkpoint), str(out)],
        env={**os.environ, "PYTHONHASHSEED": "12345"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {p.name: sha256(p) for p in out.iterdir()} == {p.name: sha256(p) for p in bundle.iterdir()}
    assert done.stdout == ""
    assert [path.name for path in out.parent.iterdir()] == ["where else"]


def test_a_variant_under_99_percent_is_refused(checkpoint: Path, tmp_path: Path, few_probes: int) -> None:
    says = rf"int8 variant .* on only \d\d\.\d\d% of {few_probes} probe pairs .*--force"
    with pytest.raises(BundleError, match=says):
        exported(checkpoint, tmp_path / "out", precisions=["int8"], force=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("out", "options", "error", "message"),
    [
        ("out", {"precisions": ["fp64"]}, UsageError, "--precision is 'fp64'"),
        ("out", {"name": "a|b"}, UsageError, "--name"),
        ("out", {"languages": ["english"]}, UsageError, "--languages has 'english'"),
        ("", {}, OutputError, "not an empty folder"),
        ("file", {}, OutputError, "not an empty folder"),
        ("file/out", {}, OutputError, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(
    checkpoint: Path, tmp_path: Path, out: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(error, match=message):
        exported(checkpoint, tmp_path / out, force=False, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_and_labels_that_cannot_be_right_leave_nothing(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_probes: int
) -> None:
    def full(*arguments: Any) -> None:
        arguments[-1].write_bytes(b"half a graph")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle_writer, "export_fused", full)
    with pytest.raises(OutputError, match="No space left on device"):
        exported(checkpoint, tmp_path / "out", force=False)
    monkeypatch.setattr(bundle_writer, "contradicts_labels", lambda means, scheme: "labels cannot be right")
    with pytest.raises(BundleError, match=r"labels cannot be right.*--force"):
        exported(checkpoint, tmp_path / "out", force=False)
    assert not list(tmp_path.iterdir())


def test_missing_extras_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"needs torch, .*, onnxruntime, .*the extras export,cpu \("):
        export_bundle("roberta-large-mnli", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_scorer_export_then_doctor(checkpoint: Path, few_probes: int, tmp_path: Path) -> None:
    """The two commands of the README, in one precision."""
    exported_by_command = calls.scorer(
        "export", checkpoint, tmp_path / "bundles" / "tiny", "--precision", "fp32", "--name", "of-the-command"
    )
    assert str(tmp_path / "bundles" / "tiny") in exported_by_command.stdout
    found = json.loads(calls.scorer("doctor", "--bundle", tmp_path / "bundles" / "tiny", "--json").stdout)
    assert (found["problems"], found["bundle"]["name"]) == ([], "of-the-command")
    assert found["bundle"]["report"]["agreement"] == 1.0
