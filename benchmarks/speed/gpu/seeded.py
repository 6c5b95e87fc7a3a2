"""A bundle of a full-size model that travels without its weights: they are written from a seed.

    python -m benchmarks.speed.gpu.seeded make OUT [PRESET]    # where the exporter is installed: 1.5 MB, some minutes
    python -m benchmarks.speed.gpu.seeded write SEEDED OUT     # anywhere, in seconds: OUT/bundle and OUT/checkpoint

Weights are normal quantiles in half precision, looked up by the raw bits of a bit generator: the same with any numpy
and processor. ``make`` looks for every tensor of the bundle among the parameters, as it is, transposed, or joined; a
weight with a bias folded into it (export/packed.py) is made from its two vectors; what is not found travels. ``write``
compares the file with the hash in bundle.json.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

SEED = 2026
_MANY = 1 << 24
Half = npt.NDArray[np.float16]


def _quantiles() -> Half:
    """Quantiles of a normal distribution of deviation 0.02, float16, *Shape:* (65536,)."""
    normal = statistics.NormalDist(0.0, 0.02)
    return np.array([normal.inv_cdf((i + 0.5) / 65536) for i in range(65536)]).astype(np.float16)


def parameter(name: str, shape: list[int], quantiles: Half) -> Half:
    bits = np.random.PCG64([SEED, zlib.crc32(name.encode())])
    count = int(np.prod(shape))
    values = np.empty(count, np.float16)
    for start in range(0, count, _MANY):
        few = min(_MANY, count - start)
        values[start : start + few] = quantiles[bits.random_raw(-(-few // 4)).view(np.uint16)[:few]]
    if name.endswith("LayerNorm.weight"):
        values += np.float16(1)
    if name == "classifier.out_proj.bias":
        values += np.array([-1.5, 0.0, 1.5], np.float16)
    return values.reshape(shape)


def parameters(shapes: dict[str, list[int]]) -> dict[str, Half]:
    quantiles = _quantiles()
    with ThreadPoolExecutor() as pool:
        return dict(zip(shapes, pool.map(lambda name: parameter(name, shapes[name], quantiles), shapes), strict=True))


def stored(made: dict[str, Half], how: list[Any], small: bytes) -> Half:
    """A tensor as the graphs have it. ``how``: the way, then names of parameters, or a place in ``small``."""
    way, *rest = how
    if way == "as it is":
        return made[rest[0]]
    if way == "transposed":
        return made[rest[0]].T
    if way == "without the first":
        return made[rest[0]][rest[1] :]
    if way == "folded":
        name, at = rest
        form, bias = np.frombuffer(small, np.float64, 2 * len(made[name]), at).reshape(2, -1)
        folded = made[name].T.astype(np.float64) + np.outer(form, bias)
        return folded.astype(np.float32).astype(np.float16)
    parts = [made[name] for name in rest]
    return np.concatenate([part.T for part in parts], axis=1) if way == "side by side" else np.concatenate(parts)


def write(source: Path, out: Path) -> bool:
    """Write the bundle and the checkpoint; True if the weights are those of the bundle's hash."""
    from safetensors.numpy import save_file

    recipe = json.loads((source / "recipe.json").read_text())
    small = (source / "small.bin").read_bytes()
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source / "bundle", out / "bundle")
    made = parameters(recipe["parameters"])
    data = np.memmap(out / "bundle" / recipe["file"], np.uint8, "w+", shape=(recipe["bytes"],))

    def fill(entry: list[Any]) -> None:
        offset, length, how = entry
        if how[0] == "carried":
            data[offset : offset + length] = np.frombuffer(small, np.uint8, length, how[1])
        else:
            value = stored(made, how, small)
            data[offset : offset + length].view(np.float16).reshape(value.shape)[...] = value

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, recipe["tensors"]))
    data.flush()
    shutil.copytree(source / "checkpoint", out / "checkpoint")
    shutil.copy(source / "bundle" / "tokenizer.json", out / "checkpoint")
    save_file(made, out / "checkpoint" / "model.safetensors", metadata={"format": "pt"})
    manifest = json.loads((source / "bundle" / "bundle.json").read_text())
    expected = {digest for variant in manifest["variants"].values() for digest in variant["external"].values()}
    with (out / "bundle" / recipe["file"]).open("rb") as file:
        return {hashlib.file_digest(file, "sha256").hexdigest()} == expected


def make(out: Path, preset: str = "roberta-large") -> None:
    """Export a bundle whose weights come from the seed, and keep what ``write`` needs."""
    import torch

    from benchmarks.speed.prepare import write_tokenizer_config
    from benchmarks.speed.random_init import random_checkpoint
    from export import export_bundle, packed
    from scorer.inference.bundle import LABELS

    shapes: dict[str, list[int]] = {}
    vectors: list[npt.NDArray[np.float64]] = []
    config: dict[str, Any] = {}
    quantiles, fold = _quantiles(), packed.fold_bias

    def seeded_model(family: Any, known: Any, seed: int) -> Any:
        model = family.build(known, len(LABELS))
        labels = dict(enumerate(LABELS))
        config.update(model.config.to_diff_dict(), architectures=[type(model).__name__], id2label=labels)
        config.update(label2id={label: number for number, label in labels.items()})
        with torch.no_grad():
            for name, value in model.named_parameters():
                shapes[name] = list(value.shape)
                value.copy_(torch.from_numpy(parameter(name, shapes[name], quantiles).astype(np.float32)))
        return model

    def recorded_fold(weight: Any, form: Any, bias: Any) -> Any:
        vectors.append(np.stack([form, bias]))
        return fold(weight, form, bias)

    work = out.with_name(f"{out.name}-whole")
    shutil.rmtree(work, ignore_errors=True)
    with mock.patch.multiple(packed, fold_bias=recorded_fold):
        checkpoint = random_checkpoint(preset, SEED, seeded_model)
        export_bundle(checkpoint, work, precisions=("fp16",), name=f"{preset}-seeded", force=True)
    recipe, small = _recipe(work, shapes, vectors)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(work, out / "bundle", ignore=shutil.ignore_patterns(recipe["file"]))
    (out / "checkpoint").mkdir()
    (out / "checkpoint" / "config.json").write_text(json.dumps(config, indent=1))
    write_tokenizer_config(out / "checkpoint")
    (out / "recipe.json").write_text(json.dumps(recipe))
    (out / "small.bin").write_bytes(small)


def _recipe(
    bundle: Path, shapes: dict[str, list[int]], vectors: list[npt.NDArray[np.float64]]
) -> tuple[dict[str, Any], bytes]:
    """How each tensor of the bundle's weights is made, and the bytes of those that travel."""
    import onnx

    file = next(bundle.glob("model.half.data"))
    data, places = file.read_bytes(), set()
    for graph in bundle.glob("model.*.onnx"):
        for tensor in onnx.load(str(graph), load_external_data=False).graph.initializer:
            entry = {one.key: one.value for one in tensor.external_data}
            if entry:
                places.add((int(entry["offset"]), int(entry["length"])))
    wanted = {hashlib.sha256(data[at : at + length]).digest(): (at, length) for at, length in places}
    made, small = parameters(shapes), bytearray()
    for vector in vectors:
        small += vector.tobytes()
    found: dict[tuple[int, int], list[Any]] = {}
    for how in _ways(made, [2 * 8 * i * vector.shape[1] for i, vector in enumerate(vectors)]):
        value = np.ascontiguousarray(stored(made, how, bytes(small)))
        place = wanted.get(hashlib.sha256(value).digest())
        if place is not None:
            found.setdefault(place, how)
    tensors = []
    for at, length in sorted(places):
        how = found.get((at, length), ["carried", len(small)])
        if how[0] == "carried":
            small += data[at : at + length]
        tensors.append([at, length, how])
    return {"file": file.name, "bytes": len(data), "parameters": shapes, "tensors": tensors}, bytes(small)


def _ways(made: dict[str, Half], folds: list[int]) -> Iterator[list[Any]]:
    """Every way in which a tensor of a graph may come from the parameters. ``folds``: places of folded vectors."""
    folded = iter(folds)
    for name, value in made.items():
        yield ["as it is", name]
        if value.ndim == 2:
            yield ["transposed", name]
        if ".query." in name:
            names = [name.replace("query", role) for role in ("query", "key", "value")]
            yield ["side by side" if value.ndim == 2 else "end to end", *names]
            if value.ndim == 2:
                yield ["folded", name, next(folded)]
        if "position_embeddings" in name:
            yield ["without the first", name, 2]


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), *sys.argv[3:])
    else:
        sys.exit(not write(Path(sys.argv[2]), Path(sys.argv[3])))
