"""Tests pass on every kind of processor: with the kernels that older ones have, on one thread and on two."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

LIBRARIES = re.compile(r"^\s*(?:import|from) (?:torch|onnxruntime|transformers)\b", re.MULTILINE)
KERNELS = (
    ("ATEN_CPU_CAPABILITY", "default"),
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("ONEDNN_MAX_CPU_ISA", "SSE41"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE"),
    ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"),
)
"""Limits of PyTorch's own kernels and of oneDNN's; a limit above what the processor has changes nothing."""
LIMIT_S = 3000


def computing() -> list[str]:
    """Test files that import what computes on its own, not this one."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in tests if LIBRARIES.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("variable", "kernels"), KERNELS)
def test_tests_pass_with_the_kernels_of_other_processors(
    variable: str, kernels: str, threads: int, tmp_path: Path
) -> None:
    has_avx2 = "avx2" in Path("/proc/cpuinfo").read_text()
    if kernels == "avx2" and not has_avx2:
        pytest.skip("this processor has no AVX2")
    named = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**named, variable: kernels, "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    ended = subprocess.run(
        [*command, *computing()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert " passed" in ended.stdout or re.search(r"\[100%\]", ended.stdout)
