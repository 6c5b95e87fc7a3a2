"""Models of usual sizes with random weights: exported whole, and kept within the agreed parity."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_full_size_bundle_stays_within_memory(tmp_path: Path) -> None:
    """All variants of roberta-large's size under 12 GB."""
    code = (
        "import resource, sys; from pathlib import Path; from export import export_bundle\n"
        "export_bundle('roberta-large', Path(sys.argv[1]), random_init=True)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    out = tmp_path / "large"
    done = subprocess.run([sys.executable, "-c", code, str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    peak = float(done.stdout)
    assert peak < 12e9 / 2**30
    manifest = json.loads((out / "bundle.json").read_text())
    sizes = {
        name: sum((out / file).stat().st_size for file in [variant["file"], *variant.get("external", {})]) / 1e9
        for name, variant in manifest["variants"].items()
    }
    assert 1.41 < sizes["fp32"] < 1.44 and 0.70 < sizes["fp16"] < 0.73 and 0.50 < sizes["int8"] < 0.53
    assert manifest["variants"]["fp32"]["fused"] == {
        "Attention": 23, "MultiHeadAttention": 1, "LayerNormalization": 49, "BiasGelu": 24
    }  # fmt: skip
    assert all(v["parity"] is None or v["parity"]["label_agreement"] >= 0.99 for v in manifest["variants"].values())
