"""A bundle: the immutable folder that ``scorer export`` writes. Checked whole before anything in it is used.

Layout (schema 1): ``bundle.json``, ``tokenizer.json``, ``probes.parquet``, ``model.<precision>.onnx`` for each
variant, optionally ``templates.json``. ``bundle.json`` holds the sha256 of every other file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from ..system.files import read_small
from ..system.formats import BUNDLE_SCHEMA as SCHEMA
from .choices import PRECISIONS as PRECISIONS
from .graph_check import LARGEST, check_graph
from .shipped import folder_of

LARGEST_FILES = {
    "bundle.json": 16 << 20,
    "tokenizer.json": 64 << 20,
    "probes.parquet": 64 << 20,
    "templates.json": 64 << 20,
}
"""Bytes of each file that is read whole; real ones have a tenth of it at most."""
MOST_PROBES = 1 << 16
LABELS = ("contradiction", "neutral", "entailment")


@dataclass(frozen=True)
class PairLayout:
    """A pair in ids: ``prefix`` + premise + ``separator`` + hypothesis + ``suffix``, padded with ``pad_id``."""

    prefix: tuple[int, ...]
    separator: tuple[int, ...]
    suffix: tuple[int, ...]
    pad_id: int

    @property
    def overhead(self) -> int:
        """Tokens of a pair that belong to neither text."""
        return len(self.prefix) + len(self.separator) + len(self.suffix)


@dataclass(frozen=True)
class Variant:
    """One ONNX file of a bundle.

    ``parity``: its figures against PyTorch, or ``None`` where they were not taken. ``by_pair``: whether the graph
    computes each pair of a call by itself, so that several may share a call (``export/by_pair.py``).
    """

    file: str
    precision: str
    sha256: str
    parity: Mapping[str, Any] | None
    by_pair: bool = False


@dataclass(frozen=True)
class Probes:
    """The pairs a variant is verified with, sorted by length.

    ``logits``: float32, *Shape:* (probes, 3), the checkpoint's own in fp32, in the bundle's label order.
    """

    premises: Sequence[str]
    hypotheses: Sequence[str]
    logits: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Bundle:
    """A bundle whose ``bundle.json`` and small files have been checked; a variant is checked when it is asked for.

    ``labels``: the three labels in the order of the logits' columns. ``max_length``: tokens of a whole pair.
    ``sha256``: of ``bundle.json``, which holds the hashes of all else, so it identifies the bundle.
    """

    path: Path
    name: str
    sha256: str
    labels: tuple[str, ...]
    layout: PairLayout
    max_length: int
    variants: Mapping[str, Variant]
    manifest: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path | str) -> Bundle:
        """Open a bundle folder, or a model that ships by its word (:data:`.shipped.SHIPPED`).

        Raises:
            BundleError: no bundle there, a newer schema, a field missing or odd, a file missing, changed or a link.
        """
        folder = folder_of(path)
        if not _is_utf8(folder):
            raise BundleError(
                f"{folder}: the model's runtime opens only paths in UTF-8, and this one is not; move the bundle"
            )
        manifest, digest = _read_manifest(folder)
        try:
            layout = manifest["pair_layout"]
            bundle = cls(
                path=folder,
                name=_text(manifest["name"]),
                sha256=digest,
                labels=tuple(map(_text, _list(manifest["labels"]))),
                layout=PairLayout(
                    tuple(map(_whole, _list(layout["prefix"]))),
                    tuple(map(_whole, _list(layout["separator"]))),
                    tuple(map(_whole, _list(layout["suffix"]))),
                    _whole(layout["pad_id"]),
                ),
                max_length=_whole(manifest["max_length"]),
                variants={
                    name: Variant(
                        _text(v["file"]),
                        _text(v["precision"]),
                        _text(v["sha256"]),
                        v.get("parity"),
                        "Scan" in v.get("fused", ()),
                    )
                    for name, v in manifest["variants"].items()
                },
                manifest=manifest,
            )
            files = {name: _text(digest) for name, digest in manifest["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise BundleError(
                f"{folder}/bundle.json: field missing or of the wrong form ({repr(e)[:200]}); export it again"
            ) from e
        bundle._check_fields(files)
        for name, expected in files.items():
            bundle._check_file(name, expected)
        return bundle

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def templates_file(self) -> Path | None:
        """The templates that came with the model, if any did."""
        return self.path / "templates.json" if "templates.json" in self.manifest["files"] else None

    @property
    def label_columns(self) -> list[int]:
        """Columns of the logits that hold contradiction, neutral and entailment, in this order."""
        return [self.labels.index(label) for label in LABELS]

    @property
    def architecture(self) -> dict[str, Any]:
        """What the manifest says of the model: ``layers``, ``hidden_size``, ``intermediate_size``, ``heads`` ..."""
        found = self.manifest.get("architecture")
        return found if isinstance(found, dict) else {}

    @property
    def parameters(self) -> int:
        """Parameters of the model; 0 where the bundle does not say."""
        architecture = self.manifest.get("architecture")
        found = architecture.get("parameters") if isinstance(architecture, dict) else None
        return found if type(found) is int and found > 0 else 0

    def variant(self, precision: str) -> Path:
        """The checked ONNX file of a precision.

        Raises:
            BundleError: the bundle has no such variant, its file is not what was exported, or it would make the
                runtime read other files or use code of others.
        """
        if precision not in self.variants:
            raise BundleError(
                f"bundle {self.name} ({self.path}) has no {precision} variant, only {', '.join(self.variants)}; "
                f"choose one of these, or export it with --precision {precision}"
            )
        chosen = self.variants[precision]
        path = self._check_file(chosen.file, chosen.sha256)
        check_graph(path)
        return path

    def probes(self) -> Probes:
        """Read the probe pairs.

        Raises:
            BundleError: the file does not hold them in the bundle's form.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / "probes.parquet"
        try:
            content = pa.BufferReader(read_small(path, LARGEST_FILES[path.name]))
            table = pq.read_table(content, columns=["premise", "hypothesis", "logits"], use_threads=False)
            premises, hypotheses = (table[name].to_pylist() for name in ("premise", "hypothesis"))
            logits = np.array(table["logits"].to_pylist(), np.float32)
        except (pa.ArrowException, KeyError, ValueError, TypeError, OSError) as e:
            reason = " ".join(str(e).split())[:300]
            raise BundleError(f"{path} cannot be read ({reason}); export the bundle again") from e
        if not 0 < len(premises) <= MOST_PROBES or not all(isinstance(text, str) for text in premises + hypotheses):
            raise BundleError(f"{path} must hold 1 to {MOST_PROBES:,} pairs of texts; export the bundle again")
        if logits.shape != (len(premises), 3) or not np.isfinite(logits).all():
            raise BundleError(f"{path} must hold three finite logits for each pair; export the bundle again")
        return Probes(premises, hypotheses, logits)

    def _check_fields(self, files: Mapping[str, str]) -> None:
        where = f"{self.path}/bundle.json"
        if sorted(self.labels) != sorted(LABELS):
            raise BundleError(f"{where}: labels are {list(self.labels)}, expected {list(LABELS)} in some order")
        if not 8 <= self.max_length <= 1 << 20:
            raise BundleError(f"{where}: max_length is {self.max_length}; a pair needs between 8 and 2**20 tokens")
        if not self.variants or any(k != v.precision or k not in PRECISIONS for k, v in self.variants.items()):
            raise BundleError(f"{where}: variants are {list(self.variants)}; this program knows {list(PRECISIONS)}")
        if any(not str(v.file).endswith(".onnx") for v in self.variants.values()):
            raise BundleError(f"{where}: a variant's file must be an .onnx file")
        if odd := sorted(files.keys() - LARGEST_FILES.keys()):
            raise BundleError(f"{where}: names the file {odd[0]!r}, which this program does not know")
        for needed in ("tokenizer.json", "probes.parquet"):
            if needed not in files:
                raise BundleError(f"{where}: no hash for {needed}; export the bundle again")

    def _check_file(self, name: str, expected: str) -> Path:
        path = self.path / name
        if not name or Path(name).name != name:
            raise BundleError(
                f"{self.path}/bundle.json names the file {name!r}, which is not a plain name in its folder"
            )
        try:
            descriptor = _open_regular(path)
        except (OSError, ValueError) as e:
            reason = getattr(e, "strerror", None) or e
            raise BundleError(
                f"{path} is missing or not a plain file, or cannot be read ({reason}); copy the whole bundle folder, "
                "or export it again"
            ) from e
        try:
            with os.fdopen(descriptor, "rb") as handle:
                size, largest = os.fstat(descriptor).st_size, LARGEST_FILES.get(name, LARGEST)
                if size > largest:
                    raise BundleError(
                        f"{path} has {size:,} bytes, and such a file may have {largest:,}; `scorer export` did not "
                        "write it"
                    )
                found = hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError as e:
            raise BundleError(f"{path} cannot be read: {e.strerror or e}; copy the bundle again") from e
        if found != expected:
            raise BundleError(
                f"{path} is not the file that was exported: sha256 {found[:12]}…, but bundle.json says "
                f"{str(expected)[:12]}…; copy the bundle again, or export it again"
            )
        return path


def _open_regular(path: Path) -> int:
    """A descriptor of a regular file that is no link.

    Raises:
        OSError: it is something else, or cannot be opened. ValueError: no file can have this name.
    """
    # Not blocking: to open a FIFO would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


def _text(value: Any) -> str:
    """A short string on one line, as all strings of the description that are used."""
    if not isinstance(value, str) or len(value) > 1000 or len(value.splitlines()) != 1 or not _is_utf8(value):
        raise TypeError(f"expected a line of text, found {value!r:.80}")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise TypeError(f"expected a whole number, found {value!r:.80}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > 100:
        raise TypeError(f"expected a short list, found {value!r:.80}")
    return value


def _is_utf8(value: Path | str) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    path = folder / "bundle.json"
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_FILES[path.name]:
            raise BundleError(f"{path} is a link or too large; copy the whole bundle folder, or export it again")
        raw = read_small(path, LARGEST_FILES[path.name])
    except OSError as e:
        raise BundleError(
            f"no bundle at {folder}: {path.name} cannot be read ({e.strerror}); give a folder that `scorer export` "
            "wrote, or one of the words embedded and embedded-e2e"
        ) from e
    try:
        manifest = json.loads(raw)
    except (ValueError, RecursionError) as e:
        raise BundleError(f"{path} is not JSON ({e}); the bundle is damaged, copy or export it again") from e
    if not isinstance(manifest, dict) or "schema" not in manifest:
        raise BundleError(f"{path} is not a bundle description; give a folder that `scorer export` wrote")
    if manifest["schema"] != SCHEMA:
        raise BundleError(
            f"{path}: schema {manifest['schema']!r}, but this program reads schema {SCHEMA}; "
            "use a matching release of d2t-scorer, or export the checkpoint again with this one"
        )
    return manifest, hashlib.sha256(raw).hexdigest()
