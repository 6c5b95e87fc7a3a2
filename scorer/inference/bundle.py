"""A bundle: the immutable folder that ``scorer export`` writes. Checked whole before anything in it is used.

Layout: ``bundle.json``, ``tokenizer.json``, ``probes.parquet``, ``model.<precision>[.packed].onnx`` for each variant,
where weights lie outside their graphs ``*.data`` files, optionally ``templates.json``. ``bundle.json`` holds the sha256
of every other file; :mod:`.manifest` has its types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from .choices import PRECISIONS as PRECISIONS
from .manifest import Manifest, PairLayout, Variant, check_file, open_manifest
from .schemes import LABELS, Scheme
from .shipped import folder_of

__all__ = ["LABELS", "PRECISIONS", "Bundle", "PairLayout", "Probes", "Scheme", "Variant"]


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
    manifest: Manifest

    @classmethod
    def load(cls, path: Path | str) -> Bundle:
        """Open a bundle folder, or a model that ships by its word (:data:`.shipped.SHIPPED`).

        Raises:
            BundleError: no bundle there, another schema, a field missing or odd, a file missing or changed.
        """
        folder = folder_of(path)
        manifest, digest = open_manifest(folder, Manifest)
        return cls(
            path=folder,
            name=manifest.name,
            sha256=digest,
            scheme=manifest.scheme,
            layout=manifest.pair_layout,
            max_length=manifest.max_length,
            variants=manifest.variants,
            manifest=manifest,
        )

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def templates_file(self) -> Path | None:
        """The templates that came with the model, if any did."""
        return self.path / "templates.json" if "templates.json" in self.manifest.files else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the logits' columns."""
        return self.scheme.labels

    @property
    def architecture(self) -> Mapping[str, str | int]:
        """What the manifest says of the model: ``layers``, ``hidden_size``, ``intermediate_size``, ``heads`` ..."""
        return self.manifest.architecture

    @property
    def parameters(self) -> int:
        """Parameters of the model; 0 where the bundle does not say."""
        found = self.architecture.get("parameters")
        return found if isinstance(found, int) else 0

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
            # Not read_table: it waits for ever if no thread can be started.
            with pq.ParquetFile(path) as file:
                table = file.read(["premise", "hypothesis", "logits"], use_threads=False)
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
