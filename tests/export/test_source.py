"""The files of a checkpoint, those that are not safe to read, and its tokenizer against transformers' own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import huggingface_hub
import pytest
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from transformers import RobertaTokenizerFast

from benchmarks.speed.random_init import train_tokenizer
from export.families import ROBERTA
from export.source import PATTERNS, Source, find_source, sha256
from export.tokenization import PairTokenizer, read_tokenizer
from scorer.errors import CheckpointError
from scorer.inference.bundle import PairLayout
from tests.export.checkpoints import edit_json

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def find(checkpoint: Path | str, revision: str | None = None) -> Source:
    return find_source(str(checkpoint), revision, lambda _: None)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_link_out_of_the_folder_is_refused(copy: Path, tmp_path: Path, name: str) -> None:
    (copy / name).rename(tmp_path / "elsewhere")
    (copy / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=rf"{name} leads out of the folder"):
        find(copy)


@pytest.mark.parametrize("shard", ["../outside.safetensors", "/etc/passwd", "sub/model.safetensors"])
def test_an_index_that_names_files_elsewhere_is_refused(copy: Path, shard: str) -> None:
    (copy / "model.safetensors").unlink()
    edit_json(copy / "model.safetensors.index.json", weight_map={"a": shard})
    with pytest.raises(CheckpointError, match="not a plain name"):
        find(copy)


@pytest.fixture
def cached(copy: Path, tmp_path: Path) -> Path:
    """The checkpoint as the hub's cache has it."""
    repository = tmp_path / "hub" / "models--some-lab--tiny-nli"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for file in copy.iterdir():
        shutil.copyfile(file, repository / "blobs" / sha256(file))
        (snapshot / file.name).symlink_to(Path("../../blobs") / sha256(file))
    return repository


def test_a_repository_of_the_hub_cache_is_read_and_named(cached: Path) -> None:
    for folder in (cached / "snapshots" / COMMIT, cached):
        found = find(folder)
        assert (found.name, found.revision) == ("some-lab/tiny-nli", COMMIT)
    shutil.copytree(cached / "snapshots" / COMMIT, cached / "snapshots" / ("f" * 40), symlinks=True)
    with pytest.raises(CheckpointError, match=rf"no snapshot of main, only {COMMIT}, f+; pass one as --revision"):
        find(cached)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(COMMIT)
    assert find(cached).revision == COMMIT and find(cached, "f" * 40).revision == "f" * 40


def test_pickled_weights_alone_are_refused_with_the_line_that_converts_them(copy: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    AutoModelForSequenceClassification.from_pretrained(copy).save_pretrained(copy, safe_serialization=False)
    (copy / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"export reads no pickles \(pytorch_model.bin") as caught:
        find(copy)
    command = str(caught.value).partition("export FOLDER: ")[2].replace("'FOLDER'", repr(str(tmp_path / "new")))
    done = subprocess.run(command.replace("python", sys.executable, 1), shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in find(tmp_path / "new").tokenizer} >= {"tokenizer.json", "tokenizer_config.json"}


def test_a_hub_id_is_named_by_its_commit(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = cached / "snapshots" / COMMIT
    download = Mock(return_value=str(snapshot))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    found = find("some-lab/tiny-nli", "main")
    assert (found.name, found.revision, found.folder) == ("some-lab/tiny-nli", COMMIT, snapshot)
    assert download.call_args.kwargs == {"revision": "main", "allow_patterns": list(PATTERNS)}
    assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in PATTERNS)
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="export reads no pickles"):  # and not the hub's fault
        find("some-lab/tiny-nli")


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
    monkeypatch.setattr(huggingface_hub, "snapshot_download", Mock(side_effect=error))
    with pytest.raises(CheckpointError, match=message) as caught:
        find("roberta-large-mnli", "v9")
    assert "\n" not in str(caught.value)


def test_sharded_weights_are_found(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "model-00001-of-00001.safetensors")
    edit_json(copy / "model.safetensors.index.json", weight_map={"x": "model-00001-of-00001.safetensors"})
    assert [path.name for path in find(copy).weights] == ["model-00001-of-00001.safetensors"]


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\n---\n# A model", ("en",)),
        ("---\nlanguage:\n- de\n- en\nlicense: mit\n---\n", ("de", "en")),
        ("---\nlanguage:\n- multilingual\n- en\n---\n", ()),
        ("---\nlanguage: [en, arz]\n---\n", ()),
        ("---\nlanguage: [no]\n---\n", ()),
        ("---\nlicense: mit\n---\n", ()),
        ("---\nlanguage: [en\n---\n", ()),
        ("# No front matter", ()),
    ],
)
def test_languages_are_those_of_the_card(copy: Path, card: str, languages: tuple[str, ...]) -> None:
    """YAML reads the code of Norwegian as false; a list that is not known whole is not known."""
    assert find(copy).languages() == ()
    (copy / "README.md").write_text(card, encoding="utf-8")
    assert find(copy).languages() == languages
    assert "README.md" not in find(copy).hashes()


def read(folder: Path, **form: bool) -> PairTokenizer:
    return read_tokenizer(find_source(str(folder), None, lambda _: None), ROBERTA, {"type_vocab_size": 1}, **form)[0]


def split_up(tokenizer: Path, folder: Path) -> None:
    """Write the vocabulary and the merges of a tokenizer as files of their own, as RoBERTa's came."""
    read = json.loads(tokenizer.read_text(encoding="utf-8"))
    vocabulary = read["model"]["vocab"] | {token["content"]: token["id"] for token in read["added_tokens"]}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = [" ".join(pair) for pair in read["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")


def test_vocab_and_merges_are_converted(copy: Path) -> None:
    expected = read(copy)
    split_up(copy / "tokenizer.json", copy)
    (copy / "tokenizer.json").unlink()
    edit_json(copy / "tokenizer_config.json", tokenizer_class="RobertaTokenizer")
    converted = read(copy)
    text = "The Vaults, a naïve pub near Café Adriatic 🍜."
    assert converted.encode(text, "A pub.") == expected.encode(text, "A pub.")
    assert converted.layout == expected.layout


def test_a_tokenizer_of_transformers_5_is_read_from_its_json(copy: Path) -> None:
    """As transformers 5.24.0 saves one: another class, another key for more special tokens, no special_tokens_map."""
    expected = read(copy)
    (copy / "special_tokens_map.json").unlink(missing_ok=True)
    config = json.loads((copy / "tokenizer_config.json").read_text(encoding="utf-8"))
    kept = {key: config[key] for key in ("cls_token", "sep_token", "pad_token", "mask_token", "unk_token")}
    written = {**kept, "backend": "tokenizers", "is_local": True, "local_files_only": False,
               "tokenizer_class": "TokenizersBackend", "extra_special_tokens": ["<mask>"]}  # fmt: skip
    (copy / "tokenizer_config.json").write_text(json.dumps(written), encoding="utf-8")
    found = read(copy)
    assert (found.text, found.layout) == (expected.text, expected.layout)
    edit_json(copy / "tokenizer_config.json", tokenizer_class="RobertaTokenizer", extra_special_tokens=["<mask>"])
    assert read(copy).text == expected.text
    edit_json(copy / "tokenizer_config.json", tokenizer_class="PythonBackend")
    with pytest.raises(CheckpointError, match=r"PythonBackend.*save it with transformers 4"):
        read(copy)


def test_files_that_disagree_are_refused(copy: Path) -> None:
    edit_json(copy / "tokenizer_config.json", add_prefix_space=True)
    with pytest.raises(CheckpointError, match=r"with tokenizer_config\.json it is"):
        read(copy)


def test_a_layout_that_depends_on_the_text_is_refused() -> None:
    tokenizer = PairTokenizer(train_tokenizer(400), "<pad>", "tokenizer.json")
    tokenizer.layout = PairLayout((0,), (2,), (2,), 1)  # as if it had been read off a pair of another form
    with pytest.raises(CheckpointError, match="joined from its texts"):
        tokenizer.check_pair_encoding([("Blue Spice", "is a pub")])


def test_one_text_is_what_the_tokenizer_makes_of_both_texts(checkpoint: Path) -> None:
    made = read(checkpoint, hypothesis_first=True, one_text=True)
    assert made.layout == PairLayout((0,), (), (2,), 1, hypothesis_first=True, one_string=True)
    theirs = RobertaTokenizerFast.from_pretrained(checkpoint)("object: pub, sentence: it is a pub")["input_ids"]
    assert made.encode("it is a pub", "object: pub, sentence:") == theirs
    assert made.length("it is a pub", "object: pub, sentence:") == len(theirs)
