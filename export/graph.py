"""A PyTorch classifier → ONNX → the fused graph, checked operator by operator against the config.

optimum writes the graph and has ONNX Runtime fuse it. Fusion that finds only part of the pattern gives a graph that is
correct but slow, without a warning. So every fused operator is counted, and its wiring looked at, before the graph is
written.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from scorer.errors import CheckpointError, first_line

from .families import ENCODER, Family

LARGEST = 2**31 - 2**24
"""Bytes of weights in one ONNX file: protobuf ends at 2 GiB, and the graph itself needs some."""
SMALLEST_OUTSIDE = 1024
"""Bytes of the smallest tensor that goes to a data file."""
_ALIGNMENT = 4096
"""The runtime maps tensors into memory, by pages."""
OPSET = 17
"""The first with LayerNormalization as one operator, so that it need not be recognised from its parts."""
_MICROSOFT = "com.microsoft"
_NEVER = ("Softmax", "Erf", "Gelu", "FastGelu", "MultiHeadAttention", "SimplifiedLayerNormalization")
"""Left-overs of an unfused block, and the approximation of GELU that would change the numbers."""


def export_fused(model: Any, family: Family, architecture: Mapping[str, Any], segments: bool, path: Path) -> None:
    """Write the fused graph, in fp32, to ``path``.

    Inputs of the graph: :func:`inputs_of`, int64, *Shape:* (batch, sequence), right padded; output: ``logits``,
    float32, *Shape:* (batch, labels).

    Args:
        model: the classifier in PyTorch, fp32 with eager attention.
        architecture: its sizes, as in bundle.json.
        segments: whether it reads segment ids.

    Raises:
        CheckpointError: exporter or fusion failed, or the fused graph is not what the config promises.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".graph-") as scratch:
        raw = Path(scratch) / "raw.onnx"
        to_onnx(model, raw, inputs_of(segments))
        graph = _fuse(raw, model.config)
        counts = family.fused(int(architecture["layers"]))
        if family.form == ENCODER:
            check_fused(graph, counts)
        else:
            expect(graph, counts)
        save(graph, path)


def inputs_of(segments: bool) -> list[str]:
    """Names of the inputs of a graph."""
    return ["input_ids", "attention_mask", *(["token_type_ids"] if segments else [])]


def operator_counts(model: Any) -> dict[str, int]:
    """Number of nodes of each operator of an ONNX model, by name; those in bodies of loops count once each."""
    return dict(sorted(Counter(node.op_type for graph in _graphs(model.graph) for node in graph.node).items()))


def check_fused(model: Any, counts: Mapping[str, int]) -> None:
    """Compare the fused operators of an encoder with the numbers that its layers require, and check the mask.

    Raises:
        CheckpointError: names the counts that differ, or how the mask is wired.
    """
    # Of the 2 L + 1 layer normalisations, all have a residual before them but the embedding's.
    expect(model, counts, never=tuple(operator for operator in _NEVER if operator not in counts))
    # Attention's mask must be the 1-D form: the number of real tokens of each row, counted from the attention mask.
    # It says that padding is on the right, costs nothing, and is what the fast kernels take; with the 2-D form every
    # attention node would read a mask of batch x sequence again. Fusion makes it as Cast(int32), ReduceSum(axis 1).
    producers = {output: node for node in model.graph.node for output in node.output}
    masks = {node.input[3] if len(node.input) > 3 else "" for node in model.graph.node if node.op_type == "Attention"}
    steps, source = [], next(iter(masks)) if len(masks) == 1 else ""
    while source in producers:
        steps.append(producers[source].op_type)
        source = producers[source].input[0]
    if steps != ["ReduceSum", "Cast"] or source != "attention_mask":
        raise CheckpointError(
            f"the fused graph takes its attention masks from {sorted(masks)} made by {steps or 'nothing'}, expected "
            "one 1-D mask, ReduceSum of attention_mask; this ONNX Runtime fuses differently: install a version that "
            "constraints.txt names"
        )


def expect(model: Any, counts: Mapping[str, int], never: tuple[str, ...] = ()) -> None:
    """Check operator counts of an ONNX model.

    Raises:
        CheckpointError: a count differs; names each such operator with both numbers.
    """
    present = operator_counts(model)
    wrong = [f"{present.get(op, 0)} {op} (expected {n})" for op, n in counts.items() if present.get(op, 0) != n]
    wrong += [f"{present[op]} {op} (expected 0)" for op in never if op in present]
    if wrong:
        raise CheckpointError(
            f"the graph does not have the operators that the config promises: {', '.join(wrong)}; either the "
            "checkpoint differs from its config.json, or torch, transformers or onnxruntime here export differently"
        )


def save(model: Any, path: Path) -> dict[str, int]:
    """Write an ONNX model, in bytes that depend on the model alone; return its operator counts.

    Weights of more than protobuf's 2 GiB go to a file of their own, :func:`data_file`.
    """
    graph = model.graph
    parts = [part for g in _graphs(graph) for part in (g, *g.node, *g.initializer, *g.input, *g.output)]
    for message in (model, *parts):
        message.ClearField("doc_string")
        message.ClearField("metadata_props")
    model.producer_name, model.producer_version, graph.name = "d2t-scorer", "", "classifier"
    tensors = [tensor for part in _graphs(graph) for tensor in part.initializer]
    if sum(len(tensor.raw_data) for tensor in tensors) > LARGEST:
        with data_file(path).open("wb") as data:
            for tensor in tensors:
                if len(tensor.raw_data) >= SMALLEST_OUTSIDE:
                    offset = append(data, tensor.raw_data)
                    point_to(tensor, data_file(path).name, offset, len(tensor.raw_data))
    with path.open("wb") as handle:
        handle.write(model.SerializeToString(deterministic=True))
    return operator_counts(model)


def data_file(path: Path) -> Path:
    """The file of a graph's weights, where they are not in the graph's own."""
    return path.with_suffix(".data")


def append(data: IO[bytes], content: bytes) -> int:
    """Write the bytes of a tensor where the runtime may map them into memory, and return their offset."""
    data.write(b"\0" * (-data.tell() % _ALIGNMENT))
    offset = data.tell()
    data.write(content)
    return offset


def point_to(tensor: Any, name: str, offset: int, length: int) -> None:
    """Have a tensor's values read from a file next to the graph."""
    from onnx import TensorProto

    tensor.ClearField("raw_data")
    tensor.ClearField("external_data")
    for key, value in (("location", name), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = TensorProto.EXTERNAL


def external_files(path: Path) -> list[str]:
    """Names of the files that hold weights of an ONNX file."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    entries = (entry for part in _graphs(model.graph) for tensor in part.initializer for entry in tensor.external_data)
    return sorted({entry.value for entry in entries if entry.key == "location"})


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and the graphs within it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def to_onnx(model: Any, path: Path, inputs: Sequence[str]) -> None:
    """Write a model of PyTorch as ONNX with optimum, not yet fused.

    Args:
        model: fp32 with eager attention: under SDPA nothing can be fused.
        inputs: inputs of the graph; other inputs that optimum would add are left out.

    Raises:
        CheckpointError: the exporter failed.
    """
    from optimum.exporters.onnx import export
    from optimum.exporters.tasks import TasksManager

    try:
        family = TasksManager.get_exporter_config_constructor(
            "onnx", model, task="text-classification", library_name="transformers"
        )

        class Config(family.func):  # type: ignore[misc, name-defined, unused-ignore]  # by how much of optimum mypy sees
            """The family's configuration of an export, with the wanted inputs alone."""

            @property
            def inputs(self) -> dict[str, dict[int, str]]:
                return {name: axes for name, axes in super().inputs.items() if name in inputs}

        config = Config(model.config, **family.keywords)
        # No axis of these outputs needs the fix, for which optimum would load the graph into a session.
        export(model, config, path, opset=OPSET, disable_dynamic_axes_fix=True)
    except Exception as e:  # whatever tracing raises
        raise CheckpointError(f"the ONNX exporter of optimum failed ({type(e).__name__}: {first_line(e)})") from e


def _fuse(raw: Path, config: Any) -> Any:
    """The fused graph of a raw one, in memory. ``config``: of the model in transformers."""
    import onnx
    from optimum.onnxruntime import ORTOptimizer
    from optimum.onnxruntime.configuration import OptimizationConfig

    options = OptimizationConfig(
        optimization_level=0,  # the runtime's own optimisations belong to the machine that runs the model
        use_raw_attention_mask=False,  # the 1-D mask, see check_fused
        enable_gelu_approximation=False,
        # Embeddings stay as they are: they are a thousandth of the time, and their fused form wants other inputs.
        disable_embed_layer_norm_fusion=True,
        # It only guards against fusing an Add that broadcasts, which the counts would show; it costs two more copies
        # of the model in memory (10 GB instead of 3 for 24 layers).
        disable_shape_inference=True,
    )
    try:
        ORTOptimizer([raw], config).optimize(options, raw.parent, file_suffix="fused")
    except Exception as e:  # of every kind
        raise CheckpointError(f"the graph cannot be fused ({type(e).__name__}: {first_line(e)})") from e
    raw.unlink()
    model = onnx.load(str(raw.with_stem(f"{raw.stem}_fused")))
    if _MICROSOFT not in {entry.domain for entry in model.opset_import}:
        model.opset_import.append(onnx.helper.make_opsetid(_MICROSOFT, 1))
    return model
