"""The base model: its files, checked by hash, and nothing of its package executed.

sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0): BERT with 6 layers of width 384 and 30,522 word pieces. It was
trained on a billion pairs of sentences, SNLI and MultiNLI among them (its model card).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import cast

from safetensors.torch import load
from torch import Tensor

SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class BaseError(Exception):
    """A file of the base model is missing or is another one."""


def read_checked(folder: Path, name: str) -> bytes:
    """The bytes of a file of the base model. Raises :class:`BaseError` for any other file."""
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as e:
        raise BaseError(f"{path}: {e.strerror or e}; see training/README.md for where it comes from") from e
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[name]:
        raise BaseError(f"{path}: sha256 is {found}, not {SHA256[name]}; this is another file than the recipe's base")
    return content


def weights(folder: Path) -> dict[str, Tensor]:
    """The base's tensors, float32, under their own names (``embeddings.…``, ``encoder.layer.N.…``, ``pooler.…``)."""
    return cast(dict[str, Tensor], load(read_checked(folder, "model.safetensors")))


def vocabulary(folder: Path) -> dict[str, int]:
    """Word piece → id of the base's tokenizer."""
    return cast(dict[str, int], json.loads(read_checked(folder, "tokenizer.json"))["model"]["vocab"])
