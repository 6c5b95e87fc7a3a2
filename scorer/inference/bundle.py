"""A bundle: the immutable folder that ``scorer export`` writes. Checked whole before anything in it is used.

``bundle.json`` (:class:`Manifest`) holds the sha256 of every other file: ``tokenizer.json``, ``probes.parquet``,
``model.<precision>[.packed].onnx`` for each variant, ``*.data`` where weights lie outside their graphs, optionally
``templates.json``.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from ..errors import BundleError, DamagedFileError, SchemaError, UsageError, install_hint
from ..system.codec import Record, decode, encode
from ..system.files import read_small, sha256_of
from . import BUILTIN_BUNDLES, VariantPrecision

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Logits: TypeAlias = npt.NDArray[np.float32]

MANIFEST = "bundle.json"
ATTENTION, PACKED_ATTENTION = "Attention", "PackedMultiHeadAttention"
"""Operators of attention: of padded graphs (whatever they are in the graph), and of packed ones."""
LABELS = ("contradiction", "neutral", "entailment")
"""The labels of the scheme ``nli``, in the order of all probabilities of this program."""
NLI, BINARY, SCORE = "nli", "binary", "score"
WIDTHS = {NLI: 3, BINARY: 2, SCORE: 1}
"""Logits of a pair, by scheme."""
THRESHOLD = 0.5

Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
GraphName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f]+\.onnx\Z")]
WeightsName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f]+\.data\Z")]
SmallFile = Literal["tokenizer.json", "probes.parquet", "templates.json"]
LanguageCode = Annotated[str, Meta(pattern=r"\A[a-z]{2}\Z")]
"""Of ISO 639-1."""
Share = Annotated[float, Meta(ge=0, le=1)]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 31)]
_HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")


class Scheme(Record, frozen=True):
    """Meaning of the logits of a bundle.

    ========  =======================================  ==============================  =======================
    kind      model                                    P(entailment)                   a check passes when
    ========  =======================================  ==============================  =======================
    nli       three classes                            softmax of *entailment*         it is the highest
    binary    two classes, one of which is supported   softmax of that class           P >= the threshold
    score     one logit                                sigmoid                         P >= the threshold
    ========  =======================================  ==============================  =======================

    """

    kind: str
    labels: tuple[str, ...]
    """Labels of the columns of the logits, in their order."""
    supported: str | None = None
    """Label of ``binary`` that means: the premise supports the hypothesis."""
    threshold: float = THRESHOLD
    """Least P(entailment) that passes, of ``binary`` and ``score``."""

    def __post_init__(self) -> None:
        if self.kind not in WIDTHS:
            raise ValueError(f"the scheme is {self.kind!r}, expected one of {', '.join(WIDTHS)}")
        expected = f"{list(LABELS)} in some order" if self.kind == NLI else f"{self.width} printable ones, each once"
        is_right = len(self.labels) == len(set(self.labels)) == self.width and all(map(str.isprintable, self.labels))
        if not is_right or (self.kind == NLI and set(self.labels) != set(LABELS)):
            raise ValueError(f"labels are {list(self.labels)}, expected {expected}")
        if self.supported not in (self.labels if self.kind == BINARY else (None,)):
            expected = f"one of {list(self.labels)}" if self.kind == BINARY else f"none with the scheme {self.kind}"
            raise ValueError(f"supported is {self.supported!r}, expected {expected}")
        if not 0 < self.threshold < 1:
            raise ValueError(f"the threshold is {self.threshold!r}, expected a number between 0 and 1")

    @property
    def width(self) -> int:
        """Logits of a pair."""
        return WIDTHS[self.kind]

    def probabilities(self, logits: Logits) -> Logits:
        """Contradiction, neutral, entailment: float32, *Shape:* (pairs, width) → float32, *Shape:* (pairs, 3).

        NaN where the scheme has no such class, and where a logit is not finite.
        """
        import numpy as np

        wide = logits.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are counted, not warned about
            if self.kind == NLI:
                ordered = wide[:, [self.labels.index(label) for label in LABELS]]
                weights = np.exp(ordered - ordered.max(axis=1, keepdims=True))
                return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
            probabilities = np.full((len(logits), 3), np.nan, np.float32)
            probabilities[:, 2] = 1 / (1 + np.exp(-self._evidence(wide)))
            return probabilities

    def decisions(self, logits: Logits) -> npt.NDArray[np.int64]:
        """The column of each pair's label, or whether it passes (0, 1); -1 where a logit is not finite.

        float32, *Shape:* (pairs, width) → int64, *Shape:* (pairs,).
        """
        import numpy as np

        finite = np.asarray(np.isfinite(logits).all(axis=1))
        safe = np.where(finite[:, None], logits, np.float32(0))
        if self.kind == NLI:
            decision = safe.argmax(axis=1).astype(np.int64)
        else:
            decision = (self.probabilities(safe)[:, 2] >= np.float32(self.threshold)).astype(np.int64)
        return np.where(finite, decision, -1)

    def decision_distances(self, logits: Logits) -> npt.NDArray[np.float64]:
        """Distance of each pair from another decision, as the change of one logit relative to another.

        A single logit has no other one to move against, so that its distance counts twice. float32, *Shape:* (pairs,
        width) → float64, *Shape:* (pairs,); not finite where a logit is not.
        """
        import numpy as np

        wide = logits.astype(np.float64)
        with np.errstate(invalid="ignore"):  # of infinities
            if self.kind == NLI:
                ordered = np.sort(wide, axis=1)
                return np.asarray(ordered[:, 2] - ordered[:, 1])
            boundary = math.log(self.threshold / (1 - self.threshold))
            return np.asarray(np.abs(self._evidence(wide) - boundary) * (2 if self.kind == SCORE else 1))

    def _evidence(self, wide: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The logit of P(entailment), of ``binary`` and ``score``: *Shape:* (pairs, 1 or 2) → (pairs,)."""
        column = self.labels.index(self.supported) if self.supported is not None else 0
        return wide[:, column] - wide[:, 1 - column] if self.kind == BINARY else wide[:, 0]


class PairLayout(Record, frozen=True):
    """A pair in ids: ``prefix`` + first text + ``separator`` + second text + ``suffix``, padded with ``pad_id``."""

    prefix: tuple[TokenId, ...]
    separator: tuple[TokenId, ...]
    suffix: tuple[TokenId, ...]
    pad_id: TokenId
    segments: bool = False
    """Whether the model takes segment ids, 1 from the end of the separator to the end of the suffix."""
    hypothesis_first: bool = False
    """Whether the hypothesis is the first text."""
    one_string: bool = False
    """Whether the tokenizer reads the pair as one string, with a blank before and after the separator; without a
    separator, with one blank between the texts."""

    @property
    def one_text(self) -> bool:
        """Whether the model reads both texts as one, with a blank between them and no token that tells them apart."""
        return self.one_string and not self.separator

    @property
    def overhead(self) -> int:
        """Tokens of a pair that belong to neither text."""
        return len(self.prefix) + len(self.separator) + len(self.suffix)


class CheckpointSource(Record, frozen=True, kw_only=True):
    """Origin of the weights: a hub id, the name of a folder, or ``random_init`` of a size; its files with sha256."""

    checkpoint: str
    revision: str | None = None
    random_init: bool = False
    seed: int | None = None
    files: dict[str, Digest] = msgspec.field(default_factory=dict)


class Variant(Record, frozen=True, kw_only=True):
    """One ONNX file of a bundle."""

    file: GraphName
    precision: VariantPrecision
    layout: Literal["padded", "packed"] = "padded"
    """A row a pair, or pairs end to end."""
    sha256: Digest
    bytes: int
    """Size of the file."""
    external: dict[WeightsName, Digest] = msgspec.field(default_factory=dict)
    """sha256 of the files that hold the weights, by name; empty where the graph's own file holds them."""
    opset: int
    inputs: tuple[str, ...]
    """Names of the inputs of the graph."""
    fused: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of nodes of each fused operator."""
    parity: dict[str, int | float | str] | None = None
    """Figures of :func:`export.parity.measure_variant`; ``None`` where it was not measured."""


class Contradiction(Record, frozen=True):
    """Threshold of P(contradiction) that tells omitted facts that the text contradicts from facts that it leaves out.

    Measured by :mod:`scorer.evaluation.contradiction` on facts that fail the check text → fact.
    """

    threshold: Annotated[float, Meta(gt=0, lt=1)]
    """Least P(contradiction) of a fact that counts as contradicted."""
    wrong_value_rate: Share
    """Share of the facts with another value in the text that are called contradicted."""
    left_out_rate: Share
    """Share of the facts that the text leaves out that are called contradicted."""


class Manifest(Record, frozen=True, kw_only=True):
    """``bundle.json``."""

    schema: int = 3
    name: str
    source: CheckpointSource
    forced: tuple[str, ...] = ()
    """Reasons for which the export was refused until ``--force`` overrode them."""
    architecture: dict[str, str | Annotated[int, Meta(ge=0)]]
    pair_layout: PairLayout
    max_length: Annotated[int, Meta(ge=8, le=1 << 20)]
    """Tokens of the longest pair, special ones included."""
    versions: dict[str, str]
    """Versions of the packages that exported the model, by name."""
    task: Literal["classification"] = "classification"
    scheme: Scheme
    contradiction: Contradiction | None = None
    """``None`` where it was not measured, and for other schemes than ``nli``."""
    languages: tuple[LanguageCode, ...] = ()
    """Languages that the model was trained to read; empty where they are not known."""
    files: dict[SmallFile, Digest]
    variants: Annotated[dict[str, Variant], Meta(min_length=1)]
    """By ``<precision>``, or ``<precision>.packed``."""

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise ValueError(f"the name is {self.name!r:.80}, expected printable text")
        for needed in ("tokenizer.json", "probes.parquet"):
            if needed not in self.files:
                raise ValueError(f"files has no hash for {needed}")
        if self.pair_layout.overhead + 2 > self.max_length:
            raise ValueError(f"pair_layout has {self.pair_layout.overhead} tokens, which leave no room for texts")
        if self.contradiction is not None and self.scheme.kind != NLI:
            raise ValueError(f"contradiction is given, but the scheme {self.scheme.kind} has no such class")
        for key, variant in self.variants.items():
            expected = variant.precision + ("" if variant.layout == "padded" else f".{variant.layout}")
            if key != expected:
                raise ValueError(f"variants has {key!r:.80} where {expected!r} is expected")


def folder_of(bundle: Path | str) -> Path:
    """The folder of a built-in name or a path; :class:`UsageError` for a URI, and for a hub id that is no path here."""
    text = str(bundle)
    if text in BUILTIN_BUNDLES:
        return BUILTIN_BUNDLES[text]
    if "://" in text:
        raise UsageError(f"{bundle} is a URI, and a bundle must be a folder on this machine: copy it first")
    path = Path(bundle)
    is_below = "/" in text and path.parent.exists()
    if _HUB_ID.fullmatch(text) and not is_below and not path.exists():
        raise UsageError(
            f"there is no folder {bundle} here, and the bundle that ships is `embedded`; for the checkpoint of that "
            f"name on the hub: `scorer export {bundle} bundles/{path.name}`, then --bundle bundles/{path.name}; to "
            f"export, {install_hint('export', 'cpu')}"
        )
    return path


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """Content and sha256 of ``bundle.json``; :class:`BundleError` if it is not there, damaged, or of another schema."""
    path, advice = folder / MANIFEST, "copy the whole bundle folder again, or export the checkpoint again"
    try:
        str(folder).encode()
        raw = read_small(path, 16 << 20)
        manifest = decode(raw, Manifest, str(path), advice=advice, other_version=advice)
    except UnicodeEncodeError as e:
        raise BundleError(
            f"{folder}: the model's runtime opens only paths in UTF-8, and this one is not; move the bundle"
        ) from e
    except OSError as e:
        raise BundleError(
            f"no bundle at {folder}: {path.name} cannot be read ({e.strerror}); give a folder that `scorer export` "
            "wrote, or the word embedded"
        ) from e
    except (SchemaError, DamagedFileError) as e:
        raise BundleError(str(e)) from e
    return manifest, hashlib.sha256(raw).hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``bundle.json``; last, because a folder without it is not a bundle."""
    (folder / MANIFEST).write_bytes(encode(manifest, indent=1) + b"\n")


def check_file(folder: Path, name: str, expected: str) -> Path:
    """The path of a file of a bundle; :class:`BundleError` if it is missing, no plain file, or changed."""
    path = folder / name
    try:
        if not path.is_file():
            raise OSError("it is missing or not a plain file")
        with path.open("rb") as handle:
            digest = sha256_of(handle)
    except OSError as e:
        advice = "copy the whole bundle folder, or export it again"
        raise BundleError(f"{path} cannot be read: {e.strerror or e}; {advice}") from e
    if digest != expected:
        raise BundleError(
            f"{path} is not the file that was exported: sha256 {digest[:12]}…, but bundle.json says "
            f"{expected[:12]}…; copy the bundle again, or export it again"
        )
    return path


class Probes(NamedTuple):
    """Pairs that a variant is verified with, sorted by length."""

    premises: list[str]
    hypotheses: list[str]
    logits: Logits
    """Logits of the checkpoint itself in fp32, float32, *Shape:* (probes, labels), in the bundle's label order."""


@dataclass(frozen=True)
class Bundle:
    """A bundle with checked ``bundle.json`` and small files; a variant is checked when it is first used."""

    path: Path
    sha256: str
    """sha256 of ``bundle.json``, which identifies the bundle."""
    manifest: Manifest
    name: str
    scheme: Scheme
    layout: PairLayout
    max_length: int
    """Tokens of the longest pair, special ones included."""
    variants: Mapping[str, Variant]
    _checked: dict[str, Path] = field(default_factory=dict, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def load(cls, path: Path | str) -> Bundle:
        """Open a bundle by its folder or its built-in name; see :func:`read_manifest` and :func:`check_file`."""
        folder = folder_of(path)
        content, digest = read_manifest(folder)
        for name, expected in content.files.items():
            check_file(folder, name, expected)
        return cls(
            folder,
            digest,
            content,
            content.name,
            content.scheme,
            content.pair_layout,
            content.max_length,
            content.variants,
        )

    @property
    def templates_file(self) -> Path | None:
        """The templates of the bundle, if it has any."""
        return self.path / "templates.json" if "templates.json" in self.manifest.files else None

    @property
    def contradiction(self) -> Contradiction | None:
        """The threshold of contradicted facts, if it was measured."""
        return self.manifest.contradiction

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes (ISO 639-1) of the languages that the model was trained to read; empty where they are not known."""
        return self.manifest.languages

    @property
    def parameters(self) -> int:
        """Parameters of the model; 0 where the bundle does not say."""
        count = self.manifest.architecture.get("parameters")
        return count if isinstance(count, int) else 0

    def variant(self, name: str) -> Path:
        """The ONNX file of a variant, hashed at the first call; any thread may ask. :class:`BundleError` if there is no
        such variant, or its file is not what was exported."""
        if name not in self.variants:
            raise self.missing_variant(name)
        with self._lock:
            if name not in self._checked:
                variant = self.variants[name]
                path = check_file(self.path, variant.file, variant.sha256)
                for data, expected in variant.external.items():
                    check_file(self.path, data, expected)
                self._checked[name] = path
            return self._checked[name]

    def missing_variant(self, name: str) -> BundleError:
        """The error for a precision or variant that the bundle does not have."""
        return BundleError(
            f"bundle {self.name} ({self.path}) has no {name} variant, only {', '.join(self.variants)}; "
            f"choose one of these, or export it with --precision {name}"
        )

    def probes(self) -> Probes:
        """Read the probe pairs; :class:`BundleError` if the file does not hold them in the bundle's form."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / "probes.parquet"
        try:
            # Not read_table: it waits for ever if no thread can be started.
            with pq.ParquetFile(path) as file:
                table = file.read(["premise", "hypothesis", "logits"], use_threads=False)
            premises, hypotheses = (table[name].to_pylist() for name in ("premise", "hypothesis"))
            logits = np.array(table["logits"].to_pylist(), np.float32)
        except (pa.ArrowException, KeyError, ValueError, TypeError, OSError) as e:
            reason = " ".join(str(e).split())[:300]
            raise BundleError(f"{path} cannot be read ({reason}); export the bundle again") from e
        are_texts = bool(premises) and all(isinstance(text, str) for text in premises + hypotheses)
        width = self.scheme.width
        if not are_texts or logits.shape != (len(premises), width) or not np.isfinite(logits).all():
            raise BundleError(
                f"{path} must hold pairs of texts with {width} finite logits each; export the bundle again"
            )
        return Probes(premises, hypotheses, logits)
