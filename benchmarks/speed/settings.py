"""The settings that are measured: each program as its documentation shows it, and in its fastest configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A way to compute the sample. ``runner``: module:function below ``benchmarks.speed.runners``. ``needs``: prepared
    parts.

    ``ours``: this project. ``bare``: not a program but a limit: the runtime's session with prepared batches.
    """

    name: str
    label: str
    runner: str
    options: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ("checkpoint",)
    ours: bool = False
    bare: bool = False


REFERENCE = "torch-fp32"
"""The setting that labels, probabilities and speeds are compared with."""

_INT8 = "model_qint8_avx512_vnni.onnx"


def cpu_pairs(*, everyone: bool = True) -> list[Setting]:
    """Settings on distinct pairs; without ``everyone`` only those that need just the checkpoint, in fp32."""
    few = [
        Setting(REFERENCE, "PyTorch fp32, batches by length", "pytorch:batches"),
        Setting("script", "PyTorch fp32, one pair at a time (the original script's way)", "pytorch:one_at_a_time"),
        Setting("pipeline", "transformers pipeline, as documented (batch 1)", "pipeline:classify"),
        Setting("ce-fp32", "CrossEncoder fp32", "cross_encoder:predict", {"batches": [1, 4, 16]}),
    ]
    many = [
        Setting("torch-bf16", "PyTorch bf16, batches by length", "pytorch:batches", {"dtype": "bfloat16"}),
        Setting(
            "pipeline-best",
            "transformers pipeline, best (bf16, by length)",
            "pipeline:classify",
            {"dtype": "bfloat16", "sorted": True, "batches": [1, 4, 16]},
        ),
        Setting("ce-bf16", "CrossEncoder bf16", "cross_encoder:predict", {"dtype": "bfloat16", "batches": [1, 4, 16]}),
        Setting(
            "ce-onnx",
            "CrossEncoder ONNX, optimised (O3)",
            "cross_encoder:predict",
            {"backend": "onnx", "folder": "onnx", "file": "onnx/model_O3.onnx"},
            ("checkpoint", "onnx"),
        ),
        Setting(
            "ce-int8",
            "CrossEncoder ONNX int8 (dynamic)",
            "cross_encoder:predict",
            {"backend": "onnx", "folder": "onnx", "file": f"onnx/{_INT8}"},
            ("checkpoint", "onnx"),
        ),
        Setting(
            "ce-openvino", "CrossEncoder OpenVINO, as documented", "cross_encoder:predict", {"backend": "openvino"}
        ),
        Setting("ort", "optimum ORTModel fp32", "optimum_ort:batches", {"file": "model.onnx"}, ("checkpoint", "onnx")),
        Setting(
            "ort-int8",
            "optimum ORTModel int8 (dynamic)",
            "optimum_ort:batches",
            {"file": _INT8},
            ("checkpoint", "onnx"),
        ),
        *(
            Setting(
                f"ov-{name}",
                f"OpenVINO {name}{how}",
                "openvino_direct:infer",
                {"file": f"model.{'int8' if name == 'int8' else 'fp32'}.xml", "precision": precision},
                ("checkpoint", "openvino"),
            )
            for name, how, precision in (("fp32", "", "f32"), ("bf16", "", "bf16"), ("int8", " (NNCF)", None))
        ),
    ]
    return [*few, *(many if everyone else []), *_our_pairs(("fp32", "int8"))]


def _our_pairs(precisions: Sequence[str]) -> list[Setting]:
    made = []
    for precision in precisions:
        options, needs = {"precision": precision}, ("bundle",)
        made += [
            Setting(f"bare-{precision}", f"bare session {precision}", "ours:bare_session", options, needs, bare=True),
            Setting(f"engine-{precision}", f"d2t-scorer {precision}, pairs", "ours:engine_pairs", options, needs, True),
            Setting(
                f"run-{precision}", f"d2t-scorer {precision}, `scorer run`", "ours:score_run", options, needs, True
            ),
        ]
    return made


def cpu_rows() -> list[Setting]:
    """Settings on whole rows, Parquet to Parquet; the first is the reference."""
    return [
        Setting("script", "PyTorch fp32, one pair at a time (the original script's way)", "rows:script"),
        Setting("ce", "CrossEncoder fp32, all checks in one list", "rows:cross_encoder"),
        *(
            Setting(f"run-{p}", f"d2t-scorer {p}, `scorer run`", "ours:score_run", {"precision": p}, ("bundle",), True)
            for p in ("fp32", "int8")
        ),
    ]
