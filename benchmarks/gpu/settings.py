"""The settings that are measured on a GPU: the alternatives, and our own choices against others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.settings import REFERENCE, Setting

_CUDNN, _UNFUSED = 8, 16
"""Bits of the provider's option ``sdpa_kernel``. With the mask of a padded graph, 3 (flash and memory-efficient) ends
in the unfused kernel too, so that 16 stands for both."""
USUAL = 65536
"""Tokens a call of the settings that do not vary it."""
AS_IT_IS = "bare-as-it-is"
"""The setting that the changed ones are compared with."""


def peers(half: str, batches: Sequence[int], slow: int) -> list[Setting]:
    """Each in its best half precision, and as documented. ``slow``: pairs for what takes one at a time."""
    best = {"dtype": half, "batches": list(batches), "try": 1024, "warm_pass": True}
    return [
        Setting(REFERENCE, "PyTorch fp32, batches by length", "pytorch:batches",
            {"batches": list(batches[:1]), "warm_pass": True},
        ),
        Setting("torch-half", f"PyTorch {half}, SDPA, batches by length", "pytorch:batches", best),
        Setting("pipeline", "transformers pipeline, as documented (batch 1)", "pipeline:classify",
            {"pairs": slow, "warm_pass": True},
        ),
        Setting(
            "pipeline-best", f"transformers pipeline, best ({half}, by length)", "pipeline:classify",
            {**best, "sorted": True},
        ),
        Setting("ce-docs", "CrossEncoder, as documented (fp32, batch 32)", "cross_encoder:predict",
            {"batches": [32], "warm_pass": True},
        ),
        Setting("ce-half", f"CrossEncoder {half}, SDPA, best batch", "cross_encoder:predict", best),
        Setting(
            "ce-bf16", "CrossEncoder bfloat16, SDPA, best batch", "cross_encoder:predict", {**best, "dtype": "bfloat16"}
        ),
    ]  # fmt: skip


def ours(precision: str, budget: int | None) -> list[Setting]:
    """The bare session and the whole program, at one token budget."""
    options = _options(precision, budget)
    return [
        Setting(f"bare-{precision}", f"bare session {precision}", "ours:bare_session", options, ("bundle",), bare=True),
        Setting(
            f"run-{precision}",
            f"d2t-scorer {precision}, `scorer run`",
            "ours:score_run",
            options,
            ("bundle",),
            ours=True,
        ),
    ]


def choices(precision: str, budget: int | None, budgets: Sequence[int], few: int) -> list[Setting]:
    """Bare sessions: the packed form over ``budgets``, and the padded form with one thing changed.

    Nothing is found out at first use here (``on_trial``): each is opened as it is asked for. ``few``: pairs for fp32
    and for small calls.
    """
    base = {**_options(precision, budget or USUAL), "layout": "padded", "on_trial": True}
    small = {**base, "token_budget": 512, "pairs": few // 8}
    fp32 = {**base, "precision": "fp32", "pairs": few}
    packed: list[tuple[str, str, dict[str, Any]]] = [
        (
            f"bare-packed-{tokens}",
            f"packed, {tokens:,} tokens a call",
            {**base, "layout": "packed", "token_budget": tokens},
        )
        for tokens in budgets
    ]
    changed: list[tuple[str, str, dict[str, Any]]] = [
        (AS_IT_IS, f"padded {precision} as it is", base),
        *packed,
        ("bare-step-16", "padded, lengths in steps of 16", {**base, "step": 16}),
        ("bare-two-callers", "padded, two threads call in turn", {**base, "callers": 2}),
        ("bare-bound", "padded, inputs and results kept on the device (a limit)", {**base, "bound": True}),
        ("bare-arena", "padded, arena doubles", {**base, "cuda": {"arena_extend_strategy": "kNextPowerOfTwo"}}),
        ("bare-cudnn", "padded, attention: cuDNN's asked for", {**base, "cuda": {"sdpa_kernel": str(_CUDNN)}}),
        ("bare-unfused", "padded, attention: unfused", {**base, "cuda": {"sdpa_kernel": str(_UNFUSED)}}),
        ("bare-fp32", "fp32 as it is", fp32),
        ("bare-fp32-tf32", "fp32 with TF32", {**fp32, "cuda": {"use_tf32": "1"}}),
        ("bare-small", "padded, small calls as they are (512 tokens)", small),
        ("bare-small-graph", "padded, small calls as CUDA graphs, kept on the device", {**small, "graph": True}),
    ]
    return [Setting(n, w, "changed:bare_session", o, ("bundle",), bare=True) for n, w, o in changed]


def labels(precision: str) -> list[Setting]:
    """Precisions of ours against fp32, for the labels; the first is the reference."""
    asked = [("engine-fp32", "d2t-scorer fp32", {"precision": "fp32"})]
    if precision != "fp32":
        asked.append((f"engine-{precision}", f"d2t-scorer {precision}", {"precision": precision}))
        exact = {"precision": precision, "exact": True}
        asked.append((f"engine-{precision}-exact", f"d2t-scorer {precision} `--exact`", exact))
    return [Setting(n, w, "ours:engine_pairs", {"exact": False, **o}, ("bundle",), ours=True) for n, w, o in asked]


def _options(precision: str, budget: int | None) -> dict[str, Any]:
    return {"precision": precision, "warm": True, **({"token_budget": budget} if budget else {})}
