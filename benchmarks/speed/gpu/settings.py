"""The settings that are measured on a GPU: the alternatives, and the forms and sizes of our own calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.speed.settings import REFERENCE, Setting

USUAL = 65536
"""Tokens a call of the settings that do not vary it."""
AS_IT_IS = "bare-padded"
"""The setting that the others of its group are compared with."""


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


PEERS = tuple(one.name for one in peers("float16", [1], 1))


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


def choices(precision: str, budgets: Sequence[int]) -> list[Setting]:
    """Bare sessions: the padded form, and the packed one at each of ``budgets``, tokens a call.

    Nothing is found out at first use here (``unverified``): each is opened as it is asked for.
    """
    base = {**_options(precision, USUAL), "unverified": True}
    asked = [(AS_IT_IS, f"padded, {USUAL:,} tokens a call", {**base, "layout": "padded"})]
    for tokens in budgets:
        options = {**base, "layout": "packed", "token_budget": tokens}
        asked.append((f"bare-packed-{tokens}", f"packed, {tokens:,} tokens a call", options))
    return [Setting(n, w, "ours:bare_session", o, ("bundle",), bare=True) for n, w, o in asked]


def labels(precision: str, budget: int | None) -> list[Setting]:
    """Precisions of ours against fp32, for the labels; the first is the reference."""
    asked = [("engine-fp32", "d2t-scorer fp32", {"precision": "fp32"})]
    if precision != "fp32":
        asked.append((f"engine-{precision}", f"d2t-scorer {precision}", {"precision": precision}))
        exact = {"precision": precision, "exact": True}
        asked.append((f"engine-{precision}-exact", f"d2t-scorer {precision} `--exact`", exact))
    base = {"exact": False, **({"token_budget": budget} if budget else {})}
    return [Setting(n, w, "ours:engine_pairs", {**base, **o}, ("bundle",), ours=True) for n, w, o in asked]


def _options(precision: str, budget: int | None) -> dict[str, Any]:
    return {"precision": precision, "warm": True, **({"token_budget": budget} if budget else {})}
