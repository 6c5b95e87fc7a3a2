"""Weights stored once, in half precision, for all variants of a bundle.

For a bundle that ships where size matters. The weights are rounded to half precision before anything is made of them,
so that all variants have the same ones. Each tensor then stands once in one data file, in the order of the fp32 graph:
the fp16 graph reads it as it is, the others cast it, which the runtime does once, as it loads the graph. The values
that a graph computes with are those that it had before.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError

from .graph import SMALLEST_OUTSIDE, append, data_file, external_files, point_to, save

SHARED = "model.data"
"""The data file of a bundle."""


def round_weights(model: Any) -> None:
    """Round the parameters of a PyTorch model to half precision, in place; their type stays.

    Raises:
        CheckpointError: a weight is beyond what half precision holds.
    """
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            rounded = value.to(torch.float16).to(value.dtype)
            if not torch.isfinite(rounded).all():
                raise CheckpointError(
                    f"weight {name} exceeds what fp16 holds; export without rounding (no --half-weights)"
                )
            value.copy_(rounded)


def share_weights(paths: Iterable[Path], shared: Path) -> None:
    """Move the tensors of ONNX files that half precision holds exactly to a file next to them, each value once.

    Small ones, those of other types, and those in bodies of loops stay where they are.
    """
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    places: dict[bytes, int] = {}
    with shared.open("wb") as data:
        for path in paths:
            model = onnx.load(str(path))
            casts = []
            for tensor in model.graph.initializer:
                if tensor.data_type not in (TensorProto.FLOAT, TensorProto.FLOAT16):
                    continue
                values = numpy_helper.to_array(tensor)
                with np.errstate(over="ignore"):
                    half = values.astype(np.float16)
                content = half.tobytes()
                if len(content) < SMALLEST_OUTSIDE or not np.array_equal(half.astype(values.dtype), values):
                    continue
                if content not in places:
                    places[content] = append(data, content)
                if tensor.data_type == TensorProto.FLOAT:
                    stored = f"{tensor.name}_half"
                    cast = [stored], [tensor.name], f"{tensor.name}_cast"
                    casts.append(helper.make_node("Cast", *cast, to=TensorProto.FLOAT))
                    tensor.name, tensor.data_type = stored, TensorProto.FLOAT16
                point_to(tensor, shared.name, places[content], len(content))
            nodes = [*casts, *model.graph.node]
            del model.graph.node[:]
            model.graph.node.extend(nodes)
            save(model, path)
            own = data_file(path)
            if own.name not in external_files(path):  # of a graph that was too large for one file
                own.unlink(missing_ok=True)
