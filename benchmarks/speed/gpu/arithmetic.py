"""The model's arithmetic, and the device's rate on large products: `arithmetic DEVICE`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.speed.runners.device import sustained
from scorer.inference.verification import pair_flops

from .steps import report


def flops(architecture: Mapping[str, Any], lengths: Sequence[int]) -> float:
    """Operations that the model's products need for pairs of these lengths, padding not counted."""
    squared = int((np.asarray(lengths, np.int64) ** 2).sum())
    return pair_flops(architecture, int(sum(lengths)), squared) or 0.0


def main(device: str) -> None:
    """Report the rate on products in half precision over five seconds, and which card it is."""
    on_gpu, chosen, smi = device.startswith("cuda"), {}, ""
    options = {"dtype": "float16", "size": 8192, "seconds": 5.0}
    if on_gpu:
        fields = "name,driver_version,memory.total,power.limit,clocks.sm,temperature.gpu"
        query = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
        smi = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    else:
        options = {"dtype": "float32", "size": 512, "seconds": 0.05}
    rates, _ = sustained({"device": device, "options": options}, chosen)()
    report("matrix", **rates, **chosen, **options, smi=smi)


if __name__ == "__main__":
    main(sys.argv[1])
