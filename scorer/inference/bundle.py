"""A bundle: the immutable folder that ``scorer export`` writes. Checked whole before anything in it is used.

Layout: ``bundle.json``, ``tokenizer.json``, ``probes.parquet``, ``model.<precision>[.packed].onnx`` for each variant,
where weights lie outside their graphs ``*.data`` files, optionally ``templates.json``. ``bundle.json`` holds the sha256
of every other file. Schema 1 had three labels, no segment ids, no data files and padded variants alone; it is read as
that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from ..system.formats import BUNDLE_SCHEMA as SCHEMA
from .choices import PRECISIONS as PRECISIONS
from .manifest import DATA, EMBEDDINGS, SMALL_FILES, check_file, is_utf8, line, read_manifest, short_list, whole
from .schemes import LABELS, Scheme, read_scheme
from .shipped import folder_of

__all__ = ["LABELS", "PRECISIONS", "SCHEMA", "Bundle", "PairLayout", "Probes", "Scheme", "Variant"]

LAYOUTS = ("padded", "packed")
ATTENTION, PACKED_ATTENTION = "Attention", "PackedMultiHeadAttention"
"""Operators of attention: of padded graphs (whatever they are in the graph), and of the two packed forms."""
ORDERS = ("premise_first", "hypothesis_first")


@dataclass(frozen=True)
class PairLayout:
    """A pair in ids: ``prefix`` + first text + ``separator`` + second text + ``suffix``, padded with ``pad_id``.

    ``segments``: whether the model is fed segment ids, 0 up to the end of the separator and 1 from there to the end of
    the suffix. ``hypothesis_first``: whether the hypothesis is the first text. ``one_string``: whether the pair is
    written as one string, in which blanks stand before and after the separator and reach the tokenizer; without a
    separator, one blank stands between the texts.
    """

    prefix: tuple[int, ...]
    separator: tuple[int, ...]
    suffix: tuple[int, ...]
    pad_id: int
    segments: bool = False
    hypothesis_first: bool = False
    one_string: bool = False

    @classmethod
    def read(cls, content: Any) -> PairLayout:
        """From ``bundle.json``.

        Raises:
            KeyError, TypeError, ValueError: a field is missing or of the wrong form.
        """
        prefix, separator, suffix = (
            tuple(map(whole, short_list(content[part]))) for part in ("prefix", "separator", "suffix")
        )
        order, segments = content.get("order", ORDERS[0]), content.get("segments")
        strings = content.get("strings", 2)
        if order not in ORDERS or segments not in (None, [0, 1]) or strings not in (1, 2):
            raise ValueError(f"order {order!r:.80}, segments {segments!r:.80}, strings {strings!r:.80}")
        return cls(
            prefix, separator, suffix, whole(content["pad_id"]), segments is not None, order == ORDERS[1], strings == 1
        )

    def describe(self) -> dict[str, Any]:
        """As it stands in ``bundle.json``."""
        return {
            "order": ORDERS[self.hypothesis_first],
            "strings": 1 if self.one_string else 2,
            "prefix": list(self.prefix),
            "separator": list(self.separator),
            "suffix": list(self.suffix),
            "segments": [0, 1] if self.segments else None,
            "pad_id": self.pad_id,
        }

    @property
    def one_text(self) -> bool:
        """Whether the model reads both texts as one, with a blank between them and no token that tells them apart."""
        return self.one_string and not self.separator

    @property
    def overhead(self) -> int:
        """Tokens of a pair that belong to neither text."""
        return len(self.prefix) + len(self.separator) + len(self.suffix)


@dataclass(frozen=True)
class Variant:
    """One ONNX file of a bundle.

    ``parity``: its figures against PyTorch, or ``None`` where they were not taken. ``by_pair``: whether the graph
    computes each pair of a call by itself, so that several may share a call (``export/by_pair.py``). ``layout``:
    ``padded`` (a row a pair) or ``packed`` (pairs end to end). ``attention``: the operator of its attention.
    ``external``: sha256 of the files that hold its weights, by name; empty where they are in the graph's own file.
    """

    file: str
    precision: str
    sha256: str
    parity: Mapping[str, Any] | None
    by_pair: bool = False
    layout: str = LAYOUTS[0]
    attention: str = ATTENTION
    external: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, content: Any) -> Variant:
        """From ``bundle.json``.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: a field is missing or of the wrong form.
        """
        external = content.get("external") or {}
        if len(external) > 100:
            raise ValueError(f"{len(external)} external files")
        return cls(
            line(content["file"]),
            line(content["precision"]),
            line(content["sha256"]),
            content.get("parity"),
            "Scan" in content.get("fused", ()),
            line(content.get("layout", LAYOUTS[0])),
            line(content.get("attention", ATTENTION)),
            {line(name): line(digest) for name, digest in external.items()},
        )

    @property
    def key(self) -> str:
        """The name that a bundle has for it."""
        if self.layout == LAYOUTS[0]:
            return self.precision
        return f"{self.precision}.{self.layout}"


@dataclass(frozen=True)
class Probes:
    """The pairs a variant is verified with, sorted by length.

    ``logits``: float32, *Shape:* (probes, labels), the checkpoint's own in fp32, in the bundle's label order.
    """

    premises: Sequence[str]
    hypotheses: Sequence[str]
    logits: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Bundle:
    """A bundle whose ``bundle.json`` and small files have been checked; a variant is checked when it is asked for.

    ``scheme``: how its logits are read. ``max_length``: tokens of a whole pair. ``variants``: by ``<precision>``, or
    ``<precision>.packed``.
    ``sha256``: of ``bundle.json``, which holds the hashes of all else, so it identifies the bundle.
    """

    path: Path
    name: str
    sha256: str
    scheme: Scheme
    layout: PairLayout
    max_length: int
    variants: Mapping[str, Variant]
    manifest: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path | str) -> Bundle:
        """Open a bundle folder, or a model that ships by its word (:data:`.shipped.SHIPPED`).

        Raises:
            BundleError: no bundle there, a newer schema, a field missing or odd, a file missing or changed.
        """
        folder = folder_of(path)
        if not is_utf8(folder):
            raise BundleError(
                f"{folder}: the model's runtime opens only paths in UTF-8, and this one is not; move the bundle"
            )
        manifest, digest = read_manifest(folder)
        if manifest.get("task") == EMBEDDINGS:
            raise BundleError(
                f"{folder} gives embeddings for `scorer baseline bertscore` and is no classifier; give a bundle that "
                "`scorer export` wrote without --task embeddings"
            )
        try:
            bundle = cls(
                path=folder,
                name=line(manifest["name"]),
                sha256=digest,
                scheme=read_scheme(manifest),
                layout=PairLayout.read(manifest["pair_layout"]),
                max_length=whole(manifest["max_length"]),
                variants={name: Variant.read(content) for name, content in manifest["variants"].items()},
                manifest=manifest,
            )
            files = {name: line(digest) for name, digest in manifest["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise BundleError(
                f"{folder}/bundle.json: field missing or of the wrong form ({repr(e)[:200]}); export it again"
            ) from e
        bundle._check_fields(files)
        for name, expected in files.items():
            check_file(folder, name, expected)
        return bundle

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def templates_file(self) -> Path | None:
        """The templates that came with the model, if any did."""
        return self.path / "templates.json" if "templates.json" in self.manifest["files"] else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the logits' columns."""
        return self.scheme.labels

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
            BundleError: the bundle has no such variant, or its file is not what was exported.
        """
        if precision not in self.variants:
            raise BundleError(
                f"bundle {self.name} ({self.path}) has no {precision} variant, only {', '.join(self.variants)}; "
                f"choose one of these, or export it with --precision {precision}"
            )
        chosen = self.variants[precision]
        path = check_file(self.path, chosen.file, chosen.sha256)
        for name, expected in chosen.external.items():
            check_file(self.path, name, expected)
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
            table = pq.read_table(path, columns=["premise", "hypothesis", "logits"], use_threads=False)
            premises, hypotheses = (table[name].to_pylist() for name in ("premise", "hypothesis"))
            logits = np.array(table["logits"].to_pylist(), np.float32)
        except (pa.ArrowException, KeyError, ValueError, TypeError, OSError) as e:
            reason = " ".join(str(e).split())[:300]
            raise BundleError(f"{path} cannot be read ({reason}); export the bundle again") from e
        if not premises or not all(isinstance(text, str) for text in premises + hypotheses):
            raise BundleError(f"{path} must hold pairs of texts; export the bundle again")
        if logits.shape != (len(premises), self.scheme.width) or not np.isfinite(logits).all():
            raise BundleError(
                f"{path} must hold {self.scheme.width} finite logits for each pair; export the bundle again"
            )
        return Probes(premises, hypotheses, logits)

    def _check_fields(self, files: Mapping[str, str]) -> None:
        where = f"{self.path}/bundle.json"
        if not 8 <= self.max_length <= 1 << 20:
            raise BundleError(f"{where}: max_length is {self.max_length}; a pair needs between 8 and 2**20 tokens")
        for key, variant in self.variants.items():
            packed = variant.layout == LAYOUTS[1]
            known = variant.layout in LAYOUTS and variant.attention == (PACKED_ATTENTION if packed else ATTENTION)
            if key != variant.key or variant.precision not in PRECISIONS or not known:
                raise BundleError(
                    f"{where}: variants has {key!r:.80}, which this program does not know; export the bundle again"
                )
            if not variant.file.endswith(".onnx"):
                raise BundleError(f"{where}: a variant's file must be an .onnx file")
            if odd := [name for name in variant.external if not name.endswith(DATA)]:
                raise BundleError(f"{where}: the external file {odd[0]!r} must be a {DATA} file")
        if not self.variants:
            raise BundleError(f"{where}: variants is empty; export the bundle again")
        if odd := sorted(files.keys() - SMALL_FILES):
            raise BundleError(f"{where}: names the file {odd[0]!r}, which this program does not know")
        for needed in ("tokenizer.json", "probes.parquet"):
            if needed not in files:
                raise BundleError(f"{where}: no hash for {needed}; export the bundle again")
