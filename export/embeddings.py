"""Encoder → bundle of embeddings, for ``scorer baseline bertscore``: one fp32 graph that gives the states of a layer.

Any checkpoint whose encoder belongs to one of the families can be exported, with a head or without one: of a family's
config, the encoder alone is read, with its first layers up to the wanted one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scorer.errors import BundleError, CheckpointError, UsageError
from scorer.inference.encoder import Encoder, EncoderBundle
from scorer.inference.manifest import CheckpointSource, EncoderManifest, write_manifest
from scorer.inference.sessions import first_line

from . import toolchain
from .architectures import FAMILIES
from .architectures.family import Family
from .checkpoint import longest_pair
from .graph import EMBEDDING, save, to_onnx
from .out_folder import NOT_IN_NAMES, check_name, check_out, rename, staging
from .sentences import SHORT, frame_pairs
from .source import find_source, sha256
from .tokenization import read_tokenizer

_ALLOWED = 1e-4
"""Largest difference of a component of a normalised embedding from PyTorch's."""
_NO_ENCODER = ("bart",)
"""Families whose layers are not those of an encoder alone."""
MODEL = "model.fp32.onnx"


def export_embeddings(
    checkpoint: str,
    out: Path,
    *,
    layer: int | None = None,
    revision: str | None = None,
    name: str | None = None,
    log: Callable[[str], None],
) -> Path:
    """Export the encoder of a checkpoint, and return the bundle's folder.

    Args:
        checkpoint: a hub id or a local folder.
        layer: whose states are the embeddings, counted from 1; by default the last one.

    Raises:
        UsageError: an option that cannot be honoured.
        CheckpointError: the checkpoint is refused.
        BundleError: the graph does not give PyTorch's embeddings.
        OutputError: ``out`` is in use or cannot be written.
        MissingDependencyError: the extra ``export`` or an ONNX Runtime is not installed.
    """
    check_name(name)
    out = Path(out)
    check_out(out)
    toolchain.require()
    with toolchain.quiet():
        source = find_source(checkpoint, revision, log)
        where = str(source.folder / "config.json")
        family = _family(source.config, where)
        known = family.read(source.config, where)
        layers = int(known[family.sizes.layers])
        chosen = layers if layer is None else layer
        if not 1 <= chosen <= layers:
            raise UsageError(f"--layer is {layer}, and {source.name} has layers 1 to {layers}; choose one of them")
        tokenizer, longest = read_tokenizer(source, family, known, one_text=True)
        tokenizer.check_ids(known[family.sizes.vocab], source.config.get("pad_token_id", known.get("pad_token_id")))
        model = _encoder(source.folder, chosen, family)
        log(f"{source.name}: layer {chosen} of {layers}, width {known[family.sizes.hidden]}")
        with staging(out) as folder:
            (folder / "tokenizer.json").write_text(tokenizer.text, encoding="utf-8")
            log("exporting to ONNX")
            files = ["tokenizer.json", *_write_graph(model, folder)]
            manifest = EncoderManifest(
                name=name or re.sub(NOT_IN_NAMES, "-", source.name.split("/")[-1]) or "encoder",
                source=CheckpointSource(checkpoint=source.name, revision=source.revision, files=source.hashes()),
                architecture={"model_type": family.model_type, "layers": layers},
                layer=chosen,
                width=int(known[family.sizes.hidden]),
                pair_layout=tokenizer.layout,
                # The package bert-score puts a blank before a text for this tokenizer, and for no other of these.
                blank_first=family.model_type == "roberta",
                max_length=longest_pair(family.positions(known), longest),
                model=MODEL,
                files={file: sha256(folder / file) for file in files},
                versions=toolchain.versions(),
            )
            write_manifest(folder, manifest)
            log("comparing with PyTorch")
            difference = _difference(model, folder)
            log(f"largest difference of a component of an embedding: {difference:.2g}")
            if difference > _ALLOWED:
                raise BundleError(
                    f"the graph's embeddings differ from PyTorch's by {difference:.2g}, and {_ALLOWED:g} is allowed; "
                    "install the versions that constraints.txt names"
                )
            rename(folder, out)
    log(f"bundle written to {out}")
    return out


def _family(config: dict[str, Any], where: str) -> Family:
    known = [family for family in FAMILIES if family.model_type not in _NO_ENCODER]
    for family in known:
        if config.get("model_type") == family.model_type:
            return family
    raise CheckpointError(
        f"{where}: model_type is {config.get('model_type')!r}; embeddings are exported of "
        f"{', '.join(family.model_type for family in known)}"
    )


def _encoder(folder: Path, layers: int, family: Family) -> Any:
    """The first layers of a checkpoint's encoder in PyTorch, fp32, eager attention, eval mode."""
    import torch
    from transformers import AutoModel

    try:
        return AutoModel.from_pretrained(
            folder, num_hidden_layers=layers, attn_implementation="eager", dtype=torch.float32, use_safetensors=True,
            local_files_only=True, trust_remote_code=False,
        ).eval()  # fmt: skip
    except Exception as e:  # of every kind
        raise CheckpointError(f"{folder} does not load as a {family.model_type} encoder ({first_line(e)})") from e


def _write_graph(model: Any, folder: Path) -> list[str]:
    """Write the graph; the names of its files."""
    import onnx

    raw = folder / "raw.onnx"
    to_onnx(model, raw, ["input_ids", "attention_mask"], EMBEDDING)
    graph = onnx.load(str(raw))
    save(graph, folder / MODEL)
    for path in folder.iterdir():  # large models come with their weights in files of their own
        if path.name not in (MODEL, "tokenizer.json", Path(MODEL).with_suffix(".data").name):
            path.unlink()
    return sorted(path.name for path in folder.iterdir() if path.name != "tokenizer.json")


def _difference(model: Any, folder: Path) -> float:
    """Largest difference of a component of a normalised embedding, over our own sentences."""
    import torch

    bundle = EncoderBundle.load(folder)
    texts = list(_texts())
    largest = 0.0
    with Encoder(bundle, device="cpu", threads=1) as encoder, torch.inference_mode():
        tokens = encoder.tokens(texts)
        for ids, found in zip(tokens, encoder.embed(tokens), strict=True):
            given = torch.tensor([ids.tolist()])
            expected = model(input_ids=given, attention_mask=torch.ones_like(given)).last_hidden_state[0].numpy()
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
            largest = max(largest, float(np.abs(expected - found).max()))
    return largest


def _texts() -> Iterator[str]:
    sentences: Sequence[str] = [premise for premise, *_ in frame_pairs()][::7]
    yield from (*SHORT[:20], *sentences[:40], "", " ".join(sentences[:6]))
