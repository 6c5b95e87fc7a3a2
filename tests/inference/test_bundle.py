from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scorer.errors import BundleError
from scorer.inference.bundle import Bundle
from tests.bundles import edit_manifest, variant


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("name", "damage"), [("model.fp32.onnx", "flip"), ("probes.parquet", "truncate"), ("tokenizer.json", "delete")]
)
def test_a_file_that_is_not_the_exported_one_is_refused(copy: Path, name: str, damage: str) -> None:
    content = bytearray((copy / name).read_bytes())
    (copy / name).unlink()
    if damage == "flip":
        content[len(content) // 2] ^= 1
    if damage != "delete":
        (copy / name).write_bytes(content[:-1] if damage == "truncate" else content)
    with pytest.raises(BundleError, match=name.replace(".", r"\.")):
        Bundle.load(copy).variant("fp32")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, r"bundle\.json has schema 2, .* reads schema 3; export the checkpoint again$"),
        ({"name": "two\nlines"}, "the name is"),
        ({"variants": {}}, "damaged: variants: "),
        ({"files": {}}, "no hash for tokenizer.json"),
        ({"pair_layout": {"prefix": [0] * 31, "separator": [], "suffix": [], "pad_id": 1}}, "leave no room for texts"),
    ],
)
def test_a_description_of_another_schema_or_odd_is_refused(copy: Path, changes: dict, message: str) -> None:
    edit_manifest(copy, **changes)
    with pytest.raises(BundleError, match=message):
        Bundle.load(copy)


@pytest.mark.parametrize("key", ["fp16", "fp32.packed"])
def test_a_variant_under_another_name_is_refused(copy: Path, key: str) -> None:
    edit_manifest(copy, variants={key: variant(copy / "model.fp32.onnx", "fp32")})
    with pytest.raises(BundleError, match=r"bundle\.json is damaged: .*variants"):
        Bundle.load(copy)


@pytest.mark.parametrize(
    ("changes", "caveat"),
    [
        ({"source": {"checkpoint": "c", "random_init": True}}, "the weights of the bundle tiny are random"),
        ({"forced": ["int8 is odd"]}, "the bundle tiny was exported with --force although int8 is odd"),
    ],
)
def test_a_bundle_that_was_forced_or_is_random_says_so(copy: Path, changes: dict, caveat: str) -> None:
    assert Bundle.load(copy).manifest.caveat is None
    edit_manifest(copy, **changes)
    assert str(Bundle.load(copy).manifest.caveat).startswith(caveat)
