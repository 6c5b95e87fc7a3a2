"""One tiny checkpoint and its bundle, made once for all tests of the exporter."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the exporter's tests need the extra `export`")
pytest.importorskip("optimum.exporters.onnx", reason="the exporter's tests need the extra `export`")

from export import bundle_writer, probes
from scorer.inference import BUILTIN_BUNDLES
from tests.export.checkpoints import exported, fuse, make_checkpoint
from training.general.rebuild import rebuild


@pytest.fixture(autouse=True)
def any_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random weights contradict their labels; the check for that has tests of its own."""
    monkeypatch.setattr(bundle_writer, "contradicts_labels", lambda means, scheme: None)


@pytest.fixture
def few_probes(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many probe pairs an export asks; they are most of its time."""
    monkeypatch.setattr(probes, "COUNT", 64)
    return 64


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as transformers saves it: two layers, hidden size 32, pairs of up to 128 tokens."""
    return make_checkpoint(tmp_path_factory.mktemp("checkpoints") / "tiny-nli", "roberta")


@pytest.fixture(scope="session")
def general_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of the model that ships."""
    folder = tmp_path_factory.mktemp("checkpoints") / "general"
    rebuild(BUILTIN_BUNDLES["embedded"], folder)
    return folder


@pytest.fixture(scope="session")
def bundle(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint's bundle with all variants; forced, for int8 costs random weights many labels."""
    return exported(checkpoint, tmp_path_factory.mktemp("bundles") / "tiny").path


@pytest.fixture(scope="session")
def fused(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "fused.onnx"
    fuse(checkpoint, path)
    return path


@pytest.fixture
def copy(checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint to spoil."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))
