"""What the runtime says of the attention kernels that it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

VARIABLE = "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO"
"""Must be 1 before a process starts; the runtime then prints a line for each attention node that it calls."""
_SIGNS = ("sdpakernel", "sdpa_kernel", "attention_kernel", "attention kernel", "cudnn_flash", "operator=")


def said(lines: Iterable[str]) -> Counter[str]:
    """The lines about attention kernels, cut at 160 characters, with the number of times; the first that came first."""
    return Counter(line.strip()[:160] for line in lines if any(sign in line.lower() for sign in _SIGNS))
