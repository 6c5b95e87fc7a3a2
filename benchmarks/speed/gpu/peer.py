"""CrossEncoder on the same pairs, which it sorts itself: `peer CHECKPOINT SAMPLE DEVICE SECONDS`. Whole passes.

Imports nothing of the program, so it needs no ONNX Runtime and no other dependency of it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

from .steps import failure, report


def main(checkpoint: str, sample: Path, device: str, seconds: float) -> None:
    """Report pairs per second for each precision and batch size, until the time is over."""
    began = time.perf_counter()
    import torch
    from sentence_transformers import CrossEncoder

    pairs = [tuple(pair) for pair in json.loads((sample / "pairs.json").read_text())["pairs"]]
    on_gpu = device.startswith("cuda")
    for dtype in ("float16", "bfloat16") if on_gpu else ("float32",):
        try:
            model = CrossEncoder(checkpoint, device=device, model_kwargs={"dtype": getattr(torch, dtype)})
            for batch in (512, 256, 1024) if on_gpu else (16,):
                if time.perf_counter() - began > seconds:
                    report("peer", dtype=dtype, batch=batch, error="no time left")
                    continue
                few = pairs[:: max(1, len(pairs) // (2 * batch))]
                model.predict(few, batch_size=batch, show_progress_bar=False)
                start = time.perf_counter()
                model.predict(pairs, batch_size=batch, show_progress_bar=False)
                took = time.perf_counter() - start
                rate = round(len(pairs) / took)
                report("peer", dtype=dtype, batch=batch, seconds=round(took, 3), pairs_per_s=rate)
            del model
            gc.collect()
        except Exception as e:
            failure("peer", e, dtype=dtype)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
