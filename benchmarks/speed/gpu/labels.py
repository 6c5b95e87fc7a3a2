"""Labels of half precision, with and without ``exact``, against those of fp32 on one device: `labels BUNDLE SAMPLE
DEVICE`.

BUNDLE has real weights in fp32 and fp16, such as an export of the embedded model's checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.speed.runners.ours import engine_pairs

from .steps import failure, report


def main(bundle: str, sample: Path, device: str) -> None:
    """Report how many labels each way keeps."""

    def labels(precision: str, **options: object) -> np.ndarray:
        asked = {"precision": precision, "exact": False, **options}
        spec = {"bundle": bundle, "pairs": str(sample / "pairs.json"), "device": device, "options": asked}
        return np.asarray(engine_pairs(spec, {})()).argmax(1)

    wanted = labels("fp32")
    report("labels", kind="fp32", pairs=len(wanted))
    half = "fp16" if device.startswith("cuda") else "int8"
    for kind, options in ((half, {}), (f"{half} exact", {"exact": True})):
        try:
            report("labels", kind=kind, same=int((labels(half, **options) == wanted).sum()), of=len(wanted))
        except Exception as e:
            failure("labels", e, kind=kind)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
