"""A hub id or a folder → local files that are safe to read: JSON, safetensors and BPE merges, all inside one folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError
from scorer.system.files import user_path

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
)
_CARD = "README.md"
PATTERNS = ("config.json", _WEIGHTS, "model-*.safetensors", _INDEX, _CARD, *_TOKENIZER)
"""The only files of a hub repository that are downloaded."""
LARGEST_TEXT = 64 << 20
"""Bytes of a file that is read whole, the tokenizer's for instance; the largest in use have a quarter of it."""
_CONVERT = (
    'python -c "from transformers import AutoModelForSequenceClassification as M, AutoTokenizer as T; '
    "[C.from_pretrained('CHECKPOINT').save_pretrained('FOLDER') for C in (M, T)]\""
)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True)
class Source:
    """Files of a checkpoint, checked to be plain files inside ``folder``."""

    folder: Path
    name: str
    """Hub id, or the folder's last name."""
    revision: str | None
    """The hub commit, if known."""
    config: dict[str, Any]
    """Content of ``config.json``."""
    weights: tuple[Path, ...]
    """Files of the weights."""
    tokenizer: tuple[Path, ...]
    """Files of the tokenizer."""

    def hashes(self) -> dict[str, str]:
        """sha256 of every file that is read, by name."""
        files = sorted([self.folder / "config.json", *self.weights, *self.tokenizer])
        index = self.folder / _INDEX
        return {path.name: sha256(path) for path in (*files, *([index] if len(self.weights) > 1 else []))}

    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that the checkpoint's card names; none without a readable card, and none of a
        checkpoint that is called multilingual, which reads more than any list."""
        from huggingface_hub import ModelCard

        if not _present(self.folder / _CARD):
            return ()
        try:
            text = _inside(self.folder, _CARD, "").read_text(encoding="utf-8")
            languages = ModelCard(text, ignore_metadata_errors=True).data.to_dict().get("language")
        except Exception:  # of every kind: a card is no part of the model
            return ()
        codes = [languages] if isinstance(languages, str) else languages if isinstance(languages, list) else []
        is_open = any(not isinstance(code, str) or code.startswith("multi") for code in codes)
        distinct = dict.fromkeys(code for code in codes if isinstance(code, str) and re.fullmatch("[a-z]{2}", code))
        return () if is_open or len(distinct) < len(codes) else tuple(distinct)


def find_source(checkpoint: str, revision: str | None, log: Callable[[str], None]) -> Source:
    """Local files of a checkpoint: of the folder if there is one of that name, else of the hub.

    A folder may be a repository in the hub's cache (``models--ORG--NAME``) or one of its snapshots.

    Raises:
        CheckpointError: neither a folder nor reachable on the hub; pickled weights only; code of its own; a file
            missing, unreadable or outside the folder.
    """
    folder = user_path(checkpoint)
    if checkpoint and folder.is_dir():
        if (folder / "snapshots").is_dir() and not (folder / "config.json").exists():
            folder = _cached_snapshot(folder, revision)
        elif revision is not None:
            raise CheckpointError(f"{folder} is a local folder and has no revisions; remove --revision {revision}")
        name, commit = _cached_name(folder)
        return _check(folder, name, commit)
    if not checkpoint or folder.exists() or not _HUB_ID.fullmatch(checkpoint):
        raise CheckpointError(f"{checkpoint!r} is neither a folder nor a hub id such as roberta-large-mnli")
    folder = _download(checkpoint, revision, log)
    return _check(folder, checkpoint, folder.name)


def sha256(path: Path) -> str:
    """sha256 of a file, in hex."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        CheckpointError: the file cannot be read or is something else.
    """
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as e:
        raise CheckpointError(f"{path} cannot be read as JSON ({e}); download the checkpoint again") from e
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a {type(value).__name__}, expected an object")
    return value


def _check(folder: Path, name: str, revision: str | None) -> Source:
    config = read_json(_inside(folder, "config.json", f"{folder} is not a checkpoint"))
    tokenizer = tuple(_inside(folder, n, "") for n in _TOKENIZER if _present(folder / n))
    for path in (folder / "config.json", *tokenizer):
        if path.name.endswith("config.json") and {"auto_map", "custom_pipelines"} & set(read_json(path)):
            raise CheckpointError(
                f"{path} needs its own code (auto_map); export never runs code from a checkpoint: choose one "
                "whose architecture is part of transformers"
            )
    return Source(folder, name, revision, config, _weights(folder), tokenizer)


def _weights(folder: Path) -> tuple[Path, ...]:
    if _present(folder / _WEIGHTS):
        return (_inside(folder, _WEIGHTS, ""),)
    if _present(folder / _INDEX):
        index = read_json(_inside(folder, _INDEX, ""))
        shards = index.get("weight_map")
        if not isinstance(shards, dict) or not shards or not all(isinstance(s, str) for s in shards.values()):
            raise CheckpointError(f"{folder / _INDEX} has no weight_map; download the checkpoint again")
        return tuple(_inside(folder, shard, "") for shard in sorted(set(shards.values())))
    raise CheckpointError(
        f"{folder} has no {_WEIGHTS}, and export reads no pickles (pytorch_model.bin and the like), which can run code "
        f"when they are read; where you trust the checkpoint, convert it and export FOLDER: "
        + _CONVERT.replace("CHECKPOINT", str(folder))
    )


def _present(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _inside(folder: Path, name: str, missing: str) -> Path:
    """``folder / name`` if it is a plain file that lies, links followed, inside the folder."""
    path = folder / name
    if Path(name).name != name:
        raise CheckpointError(f"{folder} names the file {name!r}, which is not a plain name in the folder; refused")
    target = path.resolve()
    if not any(target.is_relative_to(root) for root in _roots(folder)):
        raise CheckpointError(
            f"{path} leads out of the folder, to {target}; copy the file itself into the folder and export again"
        )
    if not target.is_file():
        raise CheckpointError(f"{missing or f'{folder} is incomplete'}: {name} is not there; download or copy it again")
    size = target.stat().st_size
    if not name.endswith(".safetensors") and size > LARGEST_TEXT:
        raise CheckpointError(f"{path} has {size:,} bytes, and such a file may have {LARGEST_TEXT:,}; refused")
    return path


def _roots(folder: Path) -> list[Path]:
    """Folders that may hold the files. In the hub's cache, ``snapshots/<commit>/`` links into ``blobs/`` next to it."""
    real = folder.resolve()
    blobs = real.parent.parent / "blobs"
    return [real, blobs] if real.parent.name == "snapshots" and blobs.is_dir() else [real]


def _cached_name(folder: Path) -> tuple[str, str | None]:
    """Name and commit of a folder; a snapshot of the hub's cache knows its id."""
    real = folder.resolve()
    repository = real.parent.parent.name
    if real.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/"), real.name
    return real.name, None


def _cached_snapshot(repository: Path, revision: str | None) -> Path:
    """The snapshot of a repository in the hub's cache: of a revision, of its main branch, or the only one."""
    name = revision or "main"
    reference = repository / "refs" / name
    commits = sorted(path.name for path in (repository / "snapshots").iterdir() if path.is_dir())
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else name
    if commit not in commits and revision is None and len(commits) == 1:
        commit = commits[0]
    if commit not in commits:
        raise CheckpointError(
            f"{repository} has no snapshot of {name}, only {', '.join(commits) or 'none'}; pass one as --revision, "
            "or download the checkpoint again"
        )
    return repository / "snapshots" / commit


def _download(hub_id: str, revision: str | None, log: Callable[[str], None]) -> Path:
    """Snapshot folder of a hub repository, named by its commit; the hub's cache is used where there is no network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    log(f"downloading {hub_id}, unless it is in the hub's cache")
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=list(PATTERNS)))
    except GatedRepoError as e:
        raise CheckpointError(
            f"{hub_id} needs its terms accepted on the hub and a login there; {_by_folder(hub_id)}"
        ) from e
    except RevisionNotFoundError as e:
        raise CheckpointError(f"{hub_id} has no revision {revision!r} on the hub; pass a commit, tag or branch") from e
    except RepositoryNotFoundError as e:
        raise CheckpointError(f"{hub_id} is neither a folder here nor a public model on the hub; check the name") from e
    except Exception as e:  # every kind of network failure, from several libraries
        # The text of a failed connection is the dump of an object; its class says more (ConnectionError, SSLError).
        cause = e.__cause__ or e
        text = (str(cause).splitlines() or [""])[0]
        reason = text[:120] if text and "ConnectionPool(" not in text else type(cause).__name__
        raise CheckpointError(
            f"{hub_id} is not a folder here, and the hub cannot be reached ({reason}); {_by_folder(hub_id)}"
        ) from e


def _by_folder(hub_id: str) -> str:
    return (
        f"on a machine with network run `hf download {hub_id} --local-dir FOLDER`, copy FOLDER here, and run "
        "`scorer export FOLDER OUT`"
    )
