"""Bundles that are refused; schemes: probabilities and margins by hand, and what a bundle may declare."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.errors import BundleError, DamagedFileError, UsageError
from scorer.inference.bundle import BINARY, LABELS, NLI, SCORE, Bundle, Contradiction, Scheme, folder_of
from scorer.inference.diagnosis import caveat
from scorer.system.codec import decode, encode
from tests.bundles import edit_manifest, variant

CONTRADICTION = {"threshold": 0.9, "wrong_value_rate": 0.8, "left_out_rate": 0.05}


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.mark.parametrize("name", ["roberta-large-mnli", "cross-encoder/nli-deberta-v3-base"])
def test_a_name_of_the_hub_is_answered_with_the_line_to_type(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = f"bundles/{name.rpartition('/')[2]}"
    line = rf"`scorer export {name} {folder}`, then --bundle {folder}; to export, install the extras export,cpu \(pip"
    with pytest.raises(UsageError, match=line):
        folder_of(name)
    Path(name).mkdir(parents=True)
    assert folder_of(name) == Path(name)


def test_a_path_is_no_name_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bundles").mkdir()
    for path in ("bundles/missing", "a/b/c", "./missing", "../x", "/x"):
        assert folder_of(path) == Path(path)
    with pytest.raises(BundleError, match="no bundle at bundles/missing"):
        Bundle.load("bundles/missing")


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
        ({"schema": 2}, r"bundle\.json has schema 2, .* reads schema 3; .*export the checkpoint again$"),
        ({"name": "two\nlines"}, "the name is"),
        ({"variants": {}}, "damaged: variants: "),
        (
            {"contradiction": {"threshold": 1.5, "wrong_value_rate": 0.8, "left_out_rate": 0.05}},
            "damaged: contradiction",
        ),
        (
            {"contradiction": CONTRADICTION, "scheme": {"kind": "score", "labels": ["x"]}},
            "scheme score has no such class",
        ),
        ({"languages": ["english"]}, "damaged: languages"),
        ({"files": {}}, "no hash for tokenizer.json"),
        ({"pair_layout": {"prefix": [0] * 127, "separator": [], "suffix": [], "pad_id": 1}}, "leave no room for texts"),
    ],
)
def test_a_description_of_another_schema_or_odd_is_refused(copy: Path, changes: dict, message: str) -> None:
    edit_manifest(copy, **changes)
    with pytest.raises(BundleError, match=message):
        Bundle.load(copy)


def test_threshold_and_languages_are_optional(copy: Path) -> None:
    without = Bundle.load(copy)
    assert (without.contradiction, without.languages) == (None, ())
    edit_manifest(copy, contradiction=CONTRADICTION, languages=["en", "de"])
    assert (Bundle.load(copy).contradiction, Bundle.load(copy).languages) == (
        Contradiction(0.9, 0.8, 0.05),
        ("en", "de"),
    )
    assert Bundle.load(copy).sha256 != without.sha256


@pytest.mark.parametrize("key", ["fp16", "fp32.packed"])
def test_a_variant_under_another_name_is_refused(copy: Path, key: str) -> None:
    edit_manifest(copy, variants={key: variant(copy / "model.fp32.onnx", "fp32")})
    with pytest.raises(BundleError, match=r"bundle\.json is damaged: .*variants"):
        Bundle.load(copy)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"source": {"checkpoint": "c", "random_init": True}}, "the weights of the bundle tiny are random"),
        ({"forced": ["int8 is odd"]}, "the bundle tiny was exported with --force although int8 is odd"),
    ],
)
def test_a_bundle_that_was_forced_or_is_random_says_so(copy: Path, changes: dict, reason: str) -> None:
    assert caveat(Bundle.load(copy).manifest) is None
    edit_manifest(copy, **changes)
    assert str(caveat(Bundle.load(copy).manifest)).startswith(reason)


X = np.array([[2, 0, 1], [0, 0, 0]], np.float32)
NEARLY = math.log(3)
"""The logit of .75."""


def test_nli_is_the_softmax_in_the_order_of_the_columns() -> None:
    scheme = Scheme(NLI, ("entailment", "neutral", "contradiction"))
    expected = np.exp([1, 0, 2]) / np.exp([1, 0, 2]).sum()
    np.testing.assert_allclose(scheme.probabilities(X)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(scheme.probabilities(X)[1], [1 / 3] * 3, rtol=1e-6)
    assert scheme.decision_distances(X).tolist() == [1, 0] and scheme.decisions(X).tolist() == [0, 0]


@pytest.mark.parametrize(("labels", "sign"), [(("no", "yes"), 1), (("yes", "no"), -1)])
def test_binary_is_the_softmax_of_the_supported_class(labels: tuple[str, str], sign: int) -> None:
    scheme = Scheme(BINARY, labels, "yes", 0.75)
    difference = np.array([0, 1, NEARLY - 0.01, NEARLY + 0.01, -3], np.float32)
    logits = np.stack([5 - sign * difference / 2, 5 + sign * difference / 2], axis=1).astype(np.float32)
    found = scheme.probabilities(logits)
    np.testing.assert_allclose(found[:, 2], 1 / (1 + np.exp(-difference)), rtol=1e-5)
    assert np.isnan(found[:, :2]).all()
    assert scheme.decisions(logits).tolist() == [0, 0, 0, 1, 0]
    np.testing.assert_allclose(scheme.decision_distances(logits), np.abs(difference - NEARLY), atol=1e-5)


def test_score_is_the_sigmoid_and_its_distance_counts_twice() -> None:
    scheme = Scheme(SCORE, ("score",), None, 0.75)
    logits = np.array([[0], [NEARLY + 0.5], [-100], [100]], np.float32)
    found = scheme.probabilities(logits)
    np.testing.assert_allclose(found[:, 2], [0.5, 1 / (1 + math.exp(-NEARLY - 0.5)), 0, 1], atol=1e-6)
    assert scheme.decisions(logits).tolist() == [0, 1, 0, 1]
    # One logit that moves by d changes a decision within d of the boundary: twice that is within 2 d.
    np.testing.assert_allclose(scheme.decision_distances(logits)[:2], [2 * NEARLY, 1.0], rtol=1e-5)


@pytest.mark.parametrize("kind", [NLI, BINARY, SCORE])
def test_what_is_not_finite_has_no_decision(kind: str) -> None:
    scheme = Scheme(kind, *{NLI: (LABELS, None), BINARY: (("a", "b"), "a"), SCORE: (("a",), None)}[kind])
    logits = np.zeros((3, scheme.width), np.float32)
    logits[0, 0], logits[1, 0] = np.nan, np.inf
    assert scheme.decisions(logits)[:2].tolist() == [-1, -1] and scheme.decisions(logits)[2] >= 0
    assert np.isnan(scheme.probabilities(logits)[0, 2])


TWO: dict[str, Any] = {"kind": "binary", "labels": ["a", "b"], "supported": "b", "threshold": 0.4}


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "regression"}, {"kind": None}, {"labels": ["a", "a"]}, {"labels": ["a"]}, {"labels": "ab"},
        {"supported": None}, {"supported": "c"}, {"threshold": None}, {"threshold": 0.0}, {"threshold": 1.0},
        {"threshold": float("nan")}, {"threshold": True}, {"kind": "nli"}, {"labels": ["a", "b\n"]}, {"supported": 1},
    ],
)  # fmt: skip
def test_a_scheme_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DamagedFileError):
        decode(encode(TWO | changes), Scheme, "x")
