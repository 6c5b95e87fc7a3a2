"""8-bit weights by ONNX Runtime's own tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.errors import CheckpointError


def quantise(fp32: Path, out: Path, head: Sequence[str]) -> None:
    """Quantise the weights of the encoder's matrix products; activations are quantised as they come. ``head``: names of
    products that stay fp32.

    Embeddings stay fp32: they are looked up, not multiplied, so that int8 would save disk alone and cost accuracy; so
    does the small head.

    Raises:
        CheckpointError: it failed.
    """
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    try:
        quantize_dynamic(
            str(fp32),
            str(out),
            op_types_to_quantize=["MatMul", "Attention"],
            per_channel=True,
            reduce_range=False,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(head),
            # The fused operators have no shape inference, so the type of their outputs must be told.
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
    except Exception as e:  # the tool raises plain ValueError and worse
        reason = (str(e).splitlines() or [type(e).__name__])[0][:200]
        raise CheckpointError(f"int8 quantisation failed ({reason}); export without it (--precision fp32,fp16)") from e
