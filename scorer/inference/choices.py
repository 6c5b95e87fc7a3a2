"""The choices of how a model runs, declared once: for the command line, Python, and plans that are read back."""

from __future__ import annotations

from typing import Literal, get_args

Variant = Literal["fp32", "fp16", "int8"]
"""The variants that a bundle may have."""
Precision = Literal["auto", Variant]
"""A variant, or the one that suits the device."""
Overlong = Literal["error", "truncate"]
"""What becomes of a pair that is longer than the model's maximum."""

PRECISIONS: tuple[str, ...] = get_args(Variant)
