"""Finding a checkpoint's files, and refusing those that are not safe to read."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import huggingface_hub
import pytest
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

from export.source import PATTERNS, Source, find_source, sha256
from scorer.errors import CheckpointError
from tests.export.checkpoints import edit_json
from tests.processes import finish

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def find(checkpoint: Path | str, revision: str | None = None) -> Source:
    return find_source(str(checkpoint), revision, lambda _: None)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_link_out_of_the_folder_is_refused(copy: Path, tmp_path: Path, name: str) -> None:
    (copy / name).rename(tmp_path / "elsewhere")
    (copy / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=rf"{name} leads out of the folder"):
        find(copy)


def test_a_snapshot_of_the_hub_cache_is_read_and_named(copy: Path, tmp_path: Path) -> None:
    repository = tmp_path / "models--some-lab--tiny-nli"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for file in copy.iterdir():
        shutil.copyfile(file, repository / "blobs" / sha256(file))
        (snapshot / file.name).symlink_to(Path("../../blobs") / sha256(file))
    found = find(snapshot)
    assert (found.name, found.revision) == ("some-lab/tiny-nli", COMMIT)


@pytest.mark.parametrize("shard", ["../outside.safetensors", "/etc/passwd", "sub/model.safetensors"])
def test_an_index_that_names_files_elsewhere_is_refused(copy: Path, shard: str) -> None:
    (copy / "model.safetensors").unlink()
    edit_json(copy / "model.safetensors.index.json", weight_map={"a": shard})
    with pytest.raises(CheckpointError, match="not a plain name"):
        find(copy)


def make_hub(monkeypatch: pytest.MonkeyPatch, folder: Path | None, error: Exception | None = None) -> Mock:
    """A hub of one repository: what ``HfApi.model_info`` and ``snapshot_download``, which is returned, answer."""
    names = ["model.safetensors", "pytorch_model.bin", "onnx/model.onnx"]
    info = SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name) for name in names])
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: Mock(model_info=Mock(return_value=info, side_effect=error)))
    download = Mock(return_value=str(folder))
    if folder is None:
        download.side_effect = huggingface_hub.errors.LocalEntryNotFoundError("not in the cache")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return download


def test_a_hub_id_is_pinned_to_its_commit(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    download = make_hub(monkeypatch, copy)
    found = find("some-lab/tiny-nli", "main")
    assert (found.name, found.revision, found.folder) == ("some-lab/tiny-nli", COMMIT, copy)
    assert download.call_args.kwargs == {
        "revision": COMMIT, "allow_patterns": list(PATTERNS), "local_files_only": False
    }  # fmt: skip
    assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in PATTERNS)


MISSING: Any = SimpleNamespace(headers={}, request=None, status_code=404)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError("Name or service not known"), r"cannot be reached \(Name or .*--local-dir FOLDER`"),
        (RepositoryNotFoundError("404", response=MISSING), "neither a folder here nor a public model"),
        (RevisionNotFoundError("404", response=MISSING), "has no revision 'v9'"),
    ],
)
def test_what_the_hub_refuses_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    make_hub(monkeypatch, None, error)
    with pytest.raises(CheckpointError, match=message) as caught:
        find("roberta-large-mnli", "v9")
    assert "\n" not in str(caught.value)


def test_without_network_the_cache_is_used(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    download = make_hub(monkeypatch, copy.rename(copy.parent / COMMIT), ConnectionError("offline"))
    lines: list[str] = []
    found = find_source("some-lab/tiny-nli", None, lines.append)
    assert (found.name, found.revision) == ("some-lab/tiny-nli", COMMIT)
    assert download.call_args.kwargs["local_files_only"] and "from its cache" in lines[0]


@pytest.mark.slow
def test_a_hub_id_offline_for_real(tmp_path: Path) -> None:
    """In a process of its own, because the library reads its settings when it is imported."""
    code = (
        "import sys; from pathlib import Path\n"
        "from export import export_bundle; from scorer.errors import ScorerError\n"
        "try: export_bundle('roberta-large-mnli', Path(sys.argv[1]) / 'out')\n"
        "except ScorerError as e: print(type(e).__name__, e)"
    )
    found = finish(code, str(tmp_path), HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "home"))
    assert found[0] == 0 and found[2] == "" and not (tmp_path / "out").exists()
    assert found[1].startswith("CheckpointError roberta-large-mnli is not a folder here, and the hub cannot be")
    assert "scorer export FOLDER" in found[1] and len(found[1].splitlines()) == 1


def test_sharded_weights_are_found(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "model-00001-of-00001.safetensors")
    edit_json(copy / "model.safetensors.index.json", weight_map={"x": "model-00001-of-00001.safetensors"})
    assert [path.name for path in find(copy).weights] == ["model-00001-of-00001.safetensors"]
