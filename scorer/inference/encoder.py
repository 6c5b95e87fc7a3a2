"""Embeddings of the tokens of texts: a bundle of ``scorer export --task embeddings``, and its session.

The bundle is a folder as that of a classifier: ``bundle.json`` with the hashes of all other files, ``tokenizer.json``
and one graph, ``model.fp32.onnx``, which gives the states of one layer. It has no probes: what it gives is compared
with PyTorch when it is exported, and fp32 is its only precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from ..system.closing import Closing
from .bundle import PairLayout
from .manifest import EncoderManifest, open_manifest
from .sessions import available_threads, create_session, first_line, resolve_device
from .texts import TextTokenizer

__all__ = ["OUTPUT", "Encoder", "EncoderBundle"]

OUTPUT = "last_hidden_state"
"""The output of the graph."""
_BATCH_TOKENS = 4096

Ids = npt.NDArray[np.int64]
Embeddings = npt.NDArray[np.float32]


@dataclass(frozen=True)
class EncoderBundle:
    """A bundle of embeddings whose files have been checked.

    ``layout``: special ids around a text. ``blank_first``: whether a text is tokenised with a blank before it.
    ``layer``: whose states the graph gives. ``width``: of an embedding. ``max_length``: tokens of a text, with those of
    the layout. ``sha256``: of ``bundle.json``, which holds the hashes of all else.
    """

    path: Path
    name: str
    sha256: str
    layout: PairLayout
    blank_first: bool
    layer: int
    width: int
    max_length: int
    model: Path

    @classmethod
    def load(cls, path: Path | str) -> EncoderBundle:
        """Open a bundle folder.

        Raises:
            BundleError: no such bundle there, or one of a classifier; a field or file missing, changed or odd.
        """
        folder = Path(path)
        manifest, digest = open_manifest(folder, EncoderManifest)
        return cls(
            path=folder,
            name=manifest.name,
            sha256=digest,
            layout=manifest.pair_layout,
            blank_first=manifest.blank_first,
            layer=manifest.layer,
            width=manifest.width,
            max_length=manifest.max_length,
            model=folder / manifest.model,
        )

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"


class Encoder(Closing):
    """An encoder on a device. A context manager, used by one thread.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; a named one that does not start is an error.
        threads: processors to use on the CPU; by default all this process may run on.

    Raises:
        BundleError: the tokenizer or the graph cannot be used.
        DeviceError: the device does not start.
    """

    def __init__(self, bundle: EncoderBundle, *, device: str = "auto", threads: int | None = None) -> None:
        self.bundle = bundle
        self._tokenizer = TextTokenizer(bundle)
        self.device = resolve_device(device, lambda message: None)
        self._session = create_session(bundle.model, self.device, threads or available_threads())

    def close(self) -> None:
        """Give the session's memory back."""
        self._session = None

    def tokens(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text without outer blanks, special ids included; longer ones than the model takes are cut."""
        layout, room = self.bundle.layout, self.bundle.max_length - self.bundle.layout.overhead
        stripped = [text.strip() for text in texts]
        blank = " " if self.bundle.blank_first else ""
        tokens = self._tokenizer.encode([blank + text if text else "" for text in stripped], keep_beginnings=True)
        prefix, suffix = np.array(layout.prefix, np.int64), np.array(layout.suffix, np.int64)
        return [
            np.concatenate([prefix, tokens.ids[start:end][:room], suffix])
            for start, end in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
        ]

    def embed(self, tokens: Sequence[Ids]) -> list[Embeddings]:
        """Embeddings of the tokens of each text, each of length 1. float32, *Shape:* (tokens, width) each.

        Raises:
            BundleError: a call fails, or gives something else.
        """
        found: list[Embeddings] = [np.empty(0, np.float32)] * len(tokens)
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(tokens[order[end]]) <= _BATCH_TOKENS:
                end += 1
            batch = [tokens[i] for i in order[start:end]]
            for i, ids, states in zip(order[start:end], batch, self._call(batch), strict=True):
                kept = states[: len(ids)]
                found[i] = kept / np.linalg.norm(kept, axis=1, keepdims=True)
            start = end
        return found

    def _call(self, batch: Sequence[Ids]) -> Embeddings:
        """States of a batch, padded on the right: float32, *Shape:* (texts, longest, width)."""
        ids = np.full((len(batch), max(map(len, batch))), self.bundle.layout.pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(batch):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        try:
            states: Embeddings = self._session.run([OUTPUT], {"input_ids": ids, "attention_mask": mask})[0]
        except Exception as e:  # the runtime's exceptions share no base class but Exception
            raise BundleError(f"{self.bundle.model} does not run: {first_line(e)}; export it again") from e
        if states.shape != (*ids.shape, self.bundle.width) or not np.isfinite(states[mask == 1]).all():
            raise BundleError(
                f"{self.bundle.model} gives embeddings of the shape {states.shape}, or some that are not finite; "
                f"expected {(*ids.shape, self.bundle.width)}"
            )
        return states.astype(np.float32, copy=False)
