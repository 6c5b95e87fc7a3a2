"""A PyTorch classifier → ONNX → the fused graph, checked operator by operator against the config.

Fusion that finds only part of the pattern gives a graph that is correct but slow, without a warning. So every fused
operator is counted, and its wiring looked at, before the graph is written.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError

OPSET = 17
"""The first with LayerNormalization as one operator, so that it need not be recognised from its parts."""
_MICROSOFT = "com.microsoft"
_NEVER = ("Softmax", "Erf", "Gelu", "FastGelu", "MultiHeadAttention", "SimplifiedLayerNormalization")
"""Left-overs of an unfused block, and the approximation of GELU that would change the numbers."""


def export_fused(model: Any, architecture: Mapping[str, Any], path: Path) -> dict[str, int]:
    """Write the fused graph, in fp32, to ``path``, and return its operator counts.

    ``model``: the classifier in PyTorch, fp32 with eager attention. Inputs of the graph: ``input_ids`` and
    ``attention_mask``, int64, *Shape:* (batch, sequence), right padded; output: ``logits``, float32, *Shape:*
    (batch, 3).

    Raises:
        CheckpointError: exporter or fusion failed, or the fused graph is not what the config promises.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".graph-") as scratch:
        raw = Path(scratch) / "raw.onnx"
        _to_onnx(model, raw)
        graph = _fuse(raw, architecture)
    check_fused(graph, int(architecture["layers"]))
    return save(graph, path)


def operator_counts(model: Any) -> dict[str, int]:
    """How many nodes of each operator an ONNX model has, by name; those in bodies of loops count once each."""
    return dict(sorted(Counter(node.op_type for graph in _graphs(model.graph) for node in graph.node).items()))


def check_fused(model: Any, layers: int) -> None:
    """Compare the fused operators with what this many layers must give, and look at the mask.

    Raises:
        CheckpointError: names the counts that differ, or how the mask is wired.
    """
    # Of the 2 L + 1 layer normalisations, all have a residual before them but the embedding's.
    expect(model, fused_counts(layers), never=_NEVER)
    # Attention's mask must be the 1-D form: the number of real tokens of each row, counted from the attention mask.
    # It says that padding is on the right, costs nothing, and is what the fast kernels take; with the 2-D form every
    # attention node would read a mask of batch x sequence again. Fusion makes it as Cast(int32), ReduceSum(axis 1).
    made_by = {output: node for node in model.graph.node for output in node.output}
    masks = {node.input[3] if len(node.input) > 3 else "" for node in model.graph.node if node.op_type == "Attention"}
    steps = []
    step = made_by.get(next(iter(masks))) if len(masks) == 1 else None
    while step is not None:
        steps.append(step.op_type)
        source = step.input[0]
        step = made_by.get(source)
    if steps != ["ReduceSum", "Cast"] or source != "attention_mask":
        raise CheckpointError(
            f"the fused graph takes its attention masks from {sorted(masks)} made by {steps or 'nothing'}, expected "
            "one 1-D mask, ReduceSum of attention_mask; this ONNX Runtime fuses differently: install a version that "
            "constraints.txt names"
        )


def fused_counts(layers: int) -> dict[str, int]:
    """Fused operators of an encoder with this many layers."""
    return {"Attention": layers, "SkipLayerNormalization": 2 * layers, "LayerNormalization": 1, "BiasGelu": layers}


def expect(model: Any, counts: Mapping[str, int], never: tuple[str, ...] = ()) -> None:
    """Check operator counts of an ONNX model.

    Raises:
        CheckpointError: names every operator whose count differs, with both numbers.
    """
    found = operator_counts(model)
    wrong = [f"{found.get(op, 0)} {op} (expected {n})" for op, n in counts.items() if found.get(op, 0) != n]
    wrong += [f"{found[op]} {op} (expected 0)" for op in never if op in found]
    if wrong:
        raise CheckpointError(
            f"the graph does not have the operators that the config promises: {', '.join(wrong)}; either the "
            "checkpoint differs from its config.json, or torch, transformers or onnxruntime here export differently"
        )


def save(model: Any, path: Path) -> dict[str, int]:
    """Write an ONNX model as one file whose bytes depend on nothing but the model; return its operator counts."""
    graph = model.graph
    parts = [part for g in _graphs(graph) for part in (g, *g.node, *g.initializer, *g.input, *g.output)]
    for message in (model, *parts):
        message.ClearField("doc_string")
        message.ClearField("metadata_props")
    model.producer_name, model.producer_version, graph.name = "d2t-scorer", "", "classifier"
    with path.open("wb") as handle:
        handle.write(model.SerializeToString(deterministic=True))
    return operator_counts(model)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those within it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _to_onnx(model: Any, path: Path) -> None:
    from optimum.exporters.onnx import export
    from optimum.exporters.tasks import TasksManager

    constructor = TasksManager.get_exporter_config_constructor(
        "onnx", model=model, task="text-classification", library_name="transformers"
    )
    try:
        # optimum asks torch for the TorchScript exporter; its graph is the one that the fusion below knows.
        inputs, outputs = export(model, constructor(model.config), path, opset=OPSET)
    except Exception as e:  # whatever tracing raises
        reason = (str(e).splitlines() or [type(e).__name__])[0][:200]
        raise CheckpointError(f"the ONNX exporter of optimum failed ({type(e).__name__}: {reason})") from e
    if inputs != ["input_ids", "attention_mask"] or outputs != ["logits"]:
        raise CheckpointError(f"the exported graph has inputs {inputs} and outputs {outputs}; expected ids and mask")


def _fuse(raw: Path, architecture: Mapping[str, Any]) -> Any:
    import onnx
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    options = FusionOptions("bert")
    options.use_raw_attention_mask(False)  # the 1-D mask, see check_fused
    options.enable_gelu_approximation = False
    # Shape inference only guards against fusing an Add that broadcasts, which the counts would show; it costs two
    # more copies of the model in memory (10 GB instead of 3 for 24 layers).
    options.enable_shape_inference = False
    fused = optimizer.optimize_model(
        str(raw),
        model_type="bert",
        num_heads=int(architecture["heads"]),
        hidden_size=int(architecture["hidden_size"]),
        optimization_options=options,
        opt_level=0,  # the runtime's own optimisations belong to the machine that runs the model
        use_gpu=False,
    )
    model = fused.model
    if _MICROSOFT not in {entry.domain for entry in model.opset_import}:
        model.opset_import.append(onnx.helper.make_opsetid(_MICROSOFT, 1))
    names = {"batch_size": "batch", "sequence_length": "sequence"}
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = names.get(dim.dim_param, dim.dim_param)
    return model
