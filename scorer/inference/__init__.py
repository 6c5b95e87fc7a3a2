"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``bundle``     a model's folder, checked before anything in it is used; how its logits are read
``tokenizer``  texts → token ids, each word once
``batching``   pairs → padded or packed batches
``device``     the table of device kinds, what a GPU's driver says
``session``    an ONNX Runtime session on the device that was asked for, or an error; calls that can be cancelled
``engine``     a session with its tokenizer and batches: the one object the pipeline talks to
``verification``  opens the variant of a bundle that suits a device, verified there once

This file has the choices that the command line offers: which model runs and how. It imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

VariantPrecision = Literal["fp32", "fp16", "int8"]
"""A precision that a bundle may have variants of."""
Precision = Literal["auto", VariantPrecision]
"""A precision, or the one that suits the device."""
Overlong = Literal["error", "truncate"]
"""Treatment of a pair that is longer than the model's maximum."""
PRECISIONS: tuple[str, ...] = get_args(VariantPrecision)
_FOLDER = Path(__file__).resolve().parents[1] / "embedded"


@dataclass(frozen=True)
class BuiltinBundle:
    """A model in the package. ``model``: its name in signatures. ``note``: what it is good for, for users."""

    model: str
    folder: Path
    note: str


BUILTIN_BUNDLES = {
    "embedded": BuiltinBundle(
        "embedded-general",
        _FOLDER / "general",
        "the embedded model is small, knows English only, and is often wrong; for production-quality labels, "
        "export a large checkpoint and pass its bundle with --bundle",
    ),
}
"""By the word that ``--bundle`` takes for it. A word may come to mean another model in a later version; a score's
signature names the model itself."""
DOMAINS = _FOLDER / "domains.parquet"
"""Rows of three domains with gold labels, written for this project; what ``make demo`` scores."""
