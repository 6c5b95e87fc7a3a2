from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from scorer.errors import BundleError
from scorer.inference.bundle import Bundle
from tests.bundles import edit_manifest, make_bundle


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


def test_a_good_bundle_opens(tiny: Path) -> None:
    bundle = Bundle.load(tiny)
    assert bundle.scheme.labels == ("contradiction", "neutral", "entailment")
    assert bundle.layout.overhead == 4
    assert bundle.variant("fp32").name == "model.fp32.onnx"
    assert bundle.templates_file is None
    probes = bundle.probes()
    assert probes.logits.shape == (len(probes.premises), 3)


@pytest.mark.parametrize("name", ["tokenizer.json", "probes.parquet", "model.fp32.onnx"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_a_file_that_is_not_the_exported_one_is_refused(copy: Path, name: str, damage: str) -> None:
    path = copy / name
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "truncate":
        path.write_bytes(content[:-1])
    else:
        path.unlink()
    with pytest.raises(BundleError, match=name.replace(".", r"\.")):
        Bundle.load(copy).variant("fp32")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 3}, "schema 3"),
        ({"labels": ["entailment", "neutral", "neutral"]}, "labels"),
        ({"labels": ["LABEL_0", "LABEL_1", "LABEL_2"]}, "labels"),
        ({"max_length": 1}, "max_length"),
        ({"max_length": "many"}, "wrong form"),
        ({"pair_layout": {}}, "wrong form"),
        ({"variants": {}}, "variants"),
        ({"files": {}}, "no hash"),
        ({"files": {"tokenizer.json": "x", "probes.parquet": "y", "../../etc/passwd": "z"}}, "does not know"),
        ({"variants": {"fp32": {"file": "../model.onnx", "precision": "fp32", "sha256": "0"}}}, "plain name"),
        ({"variants": {"fp32": {"file": "model.fp64.onnx", "precision": "fp64", "sha256": "0"}}}, "variants"),
    ],
)
def test_a_description_that_is_newer_or_odd_is_refused(copy: Path, changes: dict, message: str) -> None:
    edit_manifest(copy, **changes)
    with pytest.raises(BundleError, match=message):
        Bundle.load(copy).variant("fp32")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": 1}'])
def test_no_description_at_all(copy: Path, content: str) -> None:
    (copy / "bundle.json").write_text(content)
    with pytest.raises(BundleError, match=r"bundle\.json"):
        Bundle.load(copy)
    with pytest.raises(BundleError, match="no bundle at"):
        Bundle.load(copy / "nowhere")


def test_a_precision_that_is_not_there_names_those_that_are(tiny: Path) -> None:
    with pytest.raises(BundleError, match="fp32, int8"):
        Bundle.load(tiny).variant("fp16")


def test_label_columns_follow_the_checkpoint_s_order(tmp_path: Path) -> None:
    bundle = Bundle.load(make_bundle(tmp_path / "b", labels=("entailment", "contradiction", "neutral")))
    assert bundle.scheme.labels == ("entailment", "contradiction", "neutral")
    assert json.loads((bundle.path / "bundle.json").read_text())["labels"][0] == "entailment"
