"""``bundle.json`` as types, and the comparison of a bundle's files with the hashes in it.

A bundle is a classifier's (:class:`Manifest`) or an encoder's (:class:`EncoderManifest`). What the types say is checked
when the file is decoded; the exporter writes the same types.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, field

from ..errors import BundleError, DamagedFileError, SchemaError
from ..system.codec import OpenRecord, Record, decode, encode
from ..system.files import read_small
from ..system.formats import BUNDLE_SCHEMA
from ..system.progress import sha256_of
from . import choices
from .schemes import Scheme

MANIFEST = "bundle.json"
ATTENTION, PACKED_ATTENTION = "Attention", "PackedMultiHeadAttention"
"""Operators of attention: of padded graphs (whatever they are in the graph), and of packed ones."""

Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
"""A sha256."""
FileName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f]+\Z")]
GraphName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f]+\.onnx\Z")]
WeightsName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f]+\.data\Z")]
SmallFile = Literal["tokenizer.json", "probes.parquet", "templates.json"]
"""The files of a classifier besides graphs and their weights."""
Layout = Literal["padded", "packed"]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 31)]
LARGEST = 16 << 20
"""Bytes of ``bundle.json``; real ones have a few thousand."""
_ADVICE = "copy the whole bundle folder again, or export the checkpoint again"


class PairLayout(Record, frozen=True):
    """A pair in ids: ``prefix`` + first text + ``separator`` + second text + ``suffix``, padded with ``pad_id``.

    ``segments``: whether the model is fed segment ids, 0 up to the end of the separator and 1 from there to the end of
    the suffix. ``hypothesis_first``: whether the hypothesis is the first text. ``one_string``: whether the pair is
    written as one string, in which blanks stand before and after the separator and reach the tokenizer; without a
    separator, one blank stands between the texts.
    """

    prefix: tuple[TokenId, ...]
    separator: tuple[TokenId, ...]
    suffix: tuple[TokenId, ...]
    pad_id: TokenId
    segments: bool = False
    hypothesis_first: bool = False
    one_string: bool = False

    @property
    def one_text(self) -> bool:
        """Whether the model reads both texts as one, with a blank between them and no token that tells them apart."""
        return self.one_string and not self.separator

    @property
    def overhead(self) -> int:
        """Tokens of a pair that belong to neither text."""
        return len(self.prefix) + len(self.separator) + len(self.suffix)


class CheckpointSource(Record, frozen=True, kw_only=True):
    """Where the weights come from: a hub id with its revision, the name of a folder, or ``random_init`` of a size.

    ``files``: sha256 of the checkpoint's files.
    """

    checkpoint: str
    revision: str | None = None
    random_init: bool = False
    seed: int | None = None
    files: dict[str, Digest] = field(default_factory=dict)


class Parity(Record, frozen=True, kw_only=True):
    """A variant against the checkpoint in PyTorch, see :func:`export.parity.compare`."""

    provider: str
    pairs: int
    label_agreement: float
    max_abs_logit: float
    max_abs_probability: float
    bound: float
    within_margin: float


class Variant(Record, frozen=True, kw_only=True):
    """One ONNX file of a bundle.

    ``layout``: ``padded`` (a row a pair) or ``packed`` (pairs end to end). ``external``: sha256 of the files that hold
    its weights, by name; empty where they are in the graph's own file. ``fused``: how often each fused operator occurs.
    ``parity``: ``None`` where it was not measured.
    """

    file: GraphName
    precision: choices.Variant
    layout: Layout = "padded"
    sha256: Digest
    bytes: int
    external: dict[WeightsName, Digest] = field(default_factory=dict)
    opset: int
    inputs: tuple[str, ...]
    fused: dict[str, int] = field(default_factory=dict)
    parity: Parity | None = None

    @property
    def key(self) -> str:
        """The name that a bundle has for it."""
        return self.precision if self.layout == "padded" else f"{self.precision}.{self.layout}"

    @property
    def attention(self) -> str:
        """The operator of its attention."""
        return ATTENTION if self.layout == "padded" else PACKED_ATTENTION


class _Described(Record, frozen=True, kw_only=True):
    """What both kinds of bundle say. ``forced``: why the export was refused before ``--force`` overrode that."""

    schema: int = BUNDLE_SCHEMA
    name: str
    source: CheckpointSource
    forced: tuple[str, ...] = ()
    architecture: dict[str, str | Annotated[int, Meta(ge=0)]]
    pair_layout: PairLayout
    max_length: Annotated[int, Meta(ge=8, le=1 << 20)]
    versions: dict[str, str]

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise ValueError(f"the name is {self.name!r:.80}, expected printable text")

    @property
    def caveat(self) -> str | None:
        """Why its labels should not be trusted, for users; ``None`` where nothing is known."""
        if self.source.random_init:
            return f"the weights of the bundle {self.name} are random, so its labels mean nothing"
        if self.forced:
            return f"the bundle {self.name} was exported with --force although {'; '.join(self.forced)}"
        return None


class Manifest(_Described, frozen=True, kw_only=True):
    """``bundle.json`` of a classifier. ``variants``: by :attr:`Variant.key`."""

    task: Literal["classification"] = "classification"
    scheme: Scheme
    files: dict[SmallFile, Digest]
    variants: Annotated[dict[str, Variant], Meta(min_length=1)]

    def __post_init__(self) -> None:
        super().__post_init__()
        for needed in ("tokenizer.json", "probes.parquet"):
            if needed not in self.files:
                raise ValueError(f"files has no hash for {needed}")
        for key, variant in self.variants.items():
            if key != variant.key:
                raise ValueError(f"variants has {key!r:.80} where {variant.key!r} is expected")


class EncoderManifest(_Described, frozen=True, kw_only=True):
    """``bundle.json`` of an encoder. ``layer``, ``width``, ``blank_first``: see :class:`.encoder.EncoderBundle`."""

    task: Literal["embeddings"] = "embeddings"
    blank_first: bool
    layer: int
    width: Annotated[int, Meta(gt=0)]
    model: GraphName
    files: dict[FileName, Digest]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not {"tokenizer.json", self.model} <= self.files.keys() or not self.pair_layout.one_text:
            raise ValueError("it does not describe an encoder and its files")


M = TypeVar("M", Manifest, EncoderManifest)
_OTHER_KIND: dict[type, str] = {
    Manifest: "gives embeddings for `scorer baseline bertscore` and is not a classifier; give a bundle that `scorer "
    "export` wrote without --task embeddings",
    EncoderManifest: "is a bundle of a classifier, and embeddings are needed; export an encoder with `scorer export "
    "--task embeddings`",
}
"""What is wrong with a bundle that is not of the kind."""


class _Task(OpenRecord, frozen=True, kw_only=True):
    schema: int = BUNDLE_SCHEMA
    task: str


def read_manifest(folder: Path) -> tuple[Manifest | EncoderManifest, str]:
    """The content of ``bundle.json`` and its sha256.

    Raises:
        BundleError: it is not there, is damaged, or has another schema.
    """
    path = folder / MANIFEST
    try:
        raw = read_small(path, LARGEST)
    except OSError as e:
        raise BundleError(
            f"no bundle at {folder}: {path.name} cannot be read ({e.strerror}); give a folder that `scorer export` "
            "wrote, or the word embedded"
        ) from e
    return decode_manifest(raw, str(path)), hashlib.sha256(raw).hexdigest()


def open_manifest(folder: Path, kind: type[M]) -> tuple[M, str]:
    """The same of a bundle of one kind, whose small files have been compared with their hashes.

    Raises:
        BundleError: as :func:`read_manifest`; it is of the other kind; a file is missing or changed.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError as e:
        raise BundleError(
            f"{folder}: the model's runtime opens only paths in UTF-8, and this one is not; move the bundle"
        ) from e
    manifest, digest = read_manifest(folder)
    if not isinstance(manifest, kind):
        raise BundleError(f"{folder} {_OTHER_KIND[kind]}")
    for name, expected in manifest.files.items():
        check_file(folder, name, expected)
    return manifest, digest


def decode_manifest(raw: bytes, where: str) -> Manifest | EncoderManifest:
    """The content of ``bundle.json``.

    Raises:
        BundleError: it is damaged, or has another schema.
    """
    try:
        if decode(raw, _Task, where, advice=_ADVICE).task == "embeddings":
            return decode(raw, EncoderManifest, where, advice=_ADVICE)
        return decode(raw, Manifest, where, advice=_ADVICE)
    except SchemaError as e:
        raise BundleError(f"{str(e).partition(';')[0]}; export the checkpoint again") from e
    except DamagedFileError as e:
        raise BundleError(str(e)) from e


def write_manifest(folder: Path, manifest: Manifest | EncoderManifest) -> None:
    """Write ``bundle.json``; last, because a folder without it is not a bundle."""
    (folder / MANIFEST).write_bytes(encode(manifest, indent=1) + b"\n")


def check_file(folder: Path, name: str, expected: str) -> Path:
    """The path of a file of a bundle, whose content is what was exported.

    Raises:
        BundleError: the file is missing, no regular file, or changed.
    """
    path = folder / name
    try:
        if not path.is_file():
            raise BundleError(
                f"{path} is missing or not a plain file; copy the whole bundle folder, or export it again"
            )
        with path.open("rb") as handle:
            found = sha256_of(handle)
    except OSError as e:
        raise BundleError(f"{path} cannot be read: {e.strerror or e}; copy the bundle again") from e
    if found != expected:
        raise BundleError(
            f"{path} is not the file that was exported: sha256 {found[:12]}…, but bundle.json says "
            f"{expected[:12]}…; copy the bundle again, or export it again"
        )
    return path
