"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``bundle``     a model's folder, checked before anything in it is used; the meaning of its logits
``tokenizer``  texts → token ids, each word once
``batching``   pairs → padded or packed batches
``device``     the table of device kinds, and GPUs as their driver describes them
``session``    an ONNX Runtime session on the requested device, or an error; calls that can be cancelled
``engine``     a session with its tokenizer and batches: the one object the pipeline talks to
``verification``  opens the variant of a bundle that suits a device, verified there once
``diagnosis``  explanations for users: of devices, installations and bundles

This file has the choices that the command line offers: which model runs and how. It imports nothing heavy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

VariantPrecision = Literal["fp32", "fp16", "int8"]
"""A precision that a bundle may have variants of."""
Precision = Literal["auto", VariantPrecision]
"""A precision, or the one that suits the device."""
Overlong = Literal["error", "truncate"]
"""Treatment of a pair that is longer than the model's maximum."""
PRECISIONS: tuple[str, ...] = get_args(VariantPrecision)
BUILTIN_BUNDLES = {"embedded": Path(__file__).resolve().parents[1] / "embedded" / "general"}
"""Folders of the models in the package, by the word that ``--bundle`` takes. A word may come to mean another model in a
later version; a score's signature names the model itself."""
