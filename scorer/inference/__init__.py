"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``bundle``     a model's folder, checked before anything in it is used
``scheme``     logits → probabilities; which pairs are too close to call
``tokenizer``  texts → token ids, each word once
``batching``   pairs → padded or packed batches
``device``     the table of device kinds, what a GPU's driver says
``session``    an ONNX Runtime session on the device that was asked for, or an error; calls that can be cancelled
``verification``  which variants of a bundle may run on a device, and what each does there, measured once
``engine``     all of it together: the one object the pipeline talks to

This file has the choices that the command line offers: which model runs and how. It imports nothing heavy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..errors import UsageError

VariantPrecision = Literal["fp32", "fp16", "int8"]
"""A precision that a bundle may have variants of."""
Precision = Literal["auto", VariantPrecision]
"""A precision, or the one that suits the device."""
Overlong = Literal["error", "truncate"]
"""Treatment of a pair that is longer than the model's maximum."""
PRECISIONS: tuple[str, ...] = get_args(VariantPrecision)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
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


def folder_of(bundle: Path | str) -> Path:
    """The folder that a word or a path means.

    Raises:
        UsageError: it is the URI of a store, or of the form of a hub id, and no folder here.
    """
    if builtin := BUILTIN_BUNDLES.get(str(bundle)):
        return builtin.folder
    if isinstance(bundle, str) and "://" in bundle:
        raise UsageError(f"{bundle} is a URI, and a bundle must be a folder on this machine: copy it first")
    if isinstance(bundle, str) and _HUB_ID.fullmatch(bundle) and not Path(bundle).exists():
        raise UsageError(
            f"there is no folder {bundle} here; for a checkpoint of that name on the hub, `scorer export {bundle} DIR` "
            "makes a bundle"
        )
    return Path(bundle)
