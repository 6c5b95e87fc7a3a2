"""The int8 variant that OpenVINO computes: products in 8 bits, with scales that are fixed here.

NNCF, OpenVINO's own tool, quantises the graph of PyTorch as it was exported, since OpenVINO fuses it by itself. What it
writes is ONNX whose products stand between QuantizeLinear and DequantizeLinear. The scales of activations are set on a
part of the probe pairs. Outlying channels may be scaled into the weights before (SmoothQuant, Xiao et al. 2023,
equation 4); which strength is right depends on the model, so that several are tried.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from scorer.errors import CheckpointError

from .graph import save

STRENGTHS = (None, 0.95)
"""Of SmoothQuant, in the order in which they are tried; ``None``: without it; 0.95: what NNCF takes by default."""
FP32 = ("Gather", "Gemm")
"""Operators that stay fp32, as in the other int8 variant: embeddings, which are looked up, and the small head."""
EVERY = 3
"""Scales are set on one of so many probes; the others show what they are worth."""

Feed = Mapping[str, npt.NDArray[Any]]


def export_openvino_int8(
    raw: Path, out: Path, feeds: Sequence[Feed], figures: Callable[[Path], Mapping[str, Any]], least: float
) -> tuple[dict[str, int], dict[str, Any]]:
    """Write the variant, with the first strength that keeps enough labels, or the best one.

    Args:
        raw: the graph of PyTorch in fp32, as it was exported.
        out: the file to write.
        feeds: inputs of a pair each, int64, *Shape:* (1, sequence): what scales are set on.
        figures: measures a file; its ``label_agreement`` is a share, and the higher the better.
        least: the share of labels that is enough.

    Returns:
        Operator counts, and the figures.

    Raises:
        CheckpointError: the tool failed, or left the graph as it was.
    """
    best: tuple[dict[str, int], dict[str, Any]] | None = None
    trial = out.with_name(f"trial.{out.name}")
    for strength in STRENGTHS:
        counts = save(_quantised(raw, feeds, strength), trial)
        if not counts.get("QuantizeLinear"):
            raise CheckpointError("NNCF found no products to quantise in the graph; export without openvino-int8")
        found = dict(figures(trial))
        if best is None or found["label_agreement"] > best[1]["label_agreement"]:
            best = counts, found
            trial.replace(out)
        if found["label_agreement"] >= least:
            break
    trial.unlink(missing_ok=True)
    assert best is not None
    return best


def _quantised(raw: Path, feeds: Sequence[Feed], strength: float | None) -> Any:
    import onnx

    # It prints bars of progress. stdout is for data.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import nncf

        smooth = nncf.AdvancedSmoothQuantParameters(matmul=-1 if strength is None else strength, convolution=-1)
        try:
            return nncf.quantize(
                onnx.load(str(raw)),
                nncf.Dataset(list(map(dict, feeds))),
                model_type=nncf.ModelType.TRANSFORMER,
                preset=nncf.QuantizationPreset.MIXED,  # activations from smallest to largest, weights symmetric
                subset_size=len(feeds),
                ignored_scope=nncf.IgnoredScope(types=list(FP32), validate=False),
                advanced_parameters=nncf.AdvancedQuantizationParameters(
                    smooth_quant_alphas=smooth,
                    # It runs a copy of the graph for each product: minutes for a large model. On both embedded models
                    # it kept no more labels.
                    disable_bias_correction=True,
                ),
            )
        except Exception as e:  # the tool raises its own classes, and those of what it uses
            reason = (str(e).splitlines() or [type(e).__name__])[0][:200]
            raise CheckpointError(f"NNCF could not quantise the graph ({reason}); export without openvino-int8") from e
