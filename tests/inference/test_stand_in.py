"""The real CUDA provider on a machine without a GPU, over libraries that stand in for CUDA's and keep a log.

No kernel runs: all answers are zeros, so what is checked here is where nodes run, what a call asks of the device, and
that the program gets from Parquet to Parquet. Parity is switched off in these processes alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export import export_bundle
from scorer.inference.bundle import Bundle
from tests.conftest import ROOT
from tests.export.checkpoints import make_checkpoint

pytestmark = pytest.mark.slow
SITE, INCLUDE = ROOT / ".cuda" / "site", ROOT / ".cuda" / "cuda" / "nvidia" / "cu13" / "include"
STAND_IN = ROOT.parent / "shared" / "gpu" / "fake"
LIBRARIES = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcurand.so.10")
FP16, COMPUTE_FP32 = 2, 68
"""cudaDataType CUDA_R_16F, cublasComputeType CUBLAS_COMPUTE_32F."""

CALLS = """
import json, os, sys
from pathlib import Path
import numpy as np
from scorer.inference.batching import Batch, places
from scorer.inference.device import MEMORY_EFFICIENT, parse_device
from scorer.inference.session import create_session, runtime

options = runtime().SessionOptions
def profiled():
    made = options()
    made.enable_profiling, made.profile_file_prefix = True, sys.argv[2]
    return made
runtime().SessionOptions = profiled
session = create_session(Path(sys.argv[1]), parse_device("cuda"), 1, MEMORY_EFFICIENT)
pairs, length = 128, 64
batch = Batch(np.arange(pairs), length, pairs, pairs * length)
feed = {"input_ids": np.ones(pairs * length, np.int32)}
feed |= places(np.full(pairs, length), np.arange(pairs + 1) * length, batch)
for call in range(3):
    with open(os.environ["FAKE_CUDA_LOG"], "a") as log:
        log.write(f"CALL {call}\\n")
    session.run(None, feed)
print(json.dumps({"profile": session.end_profiling(), "torch": "torch" in sys.modules}))
"""
WITHOUT_PARITY = "from scorer.inference import verification\nverification.MINIMUM_AGREEMENT = 0.0\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of processes in which the CUDA provider finds the stand-in: the driver system-wide, the others as wheels."""
    for place, what in ((SITE, "`make test-slow` downloads the CUDA provider"), (STAND_IN, "the stand-in's source")):
        if not place.is_dir():
            pytest.skip(f"{what}, which is not at {place}")
    for tool in ("gcc", "nm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool}, which builds the stand-in, is not installed")
    folder = tmp_path_factory.mktemp("stand-in")
    subprocess.run(["bash", STAND_IN / "build.sh", SITE, INCLUDE, folder / "driver"], check=True)
    wheels = folder / "site" / "nvidia" / "cu13" / "lib"
    wheels.mkdir(parents=True)
    for name in LIBRARIES:
        (folder / "driver" / name).rename(wheels / name)
    path = [SITE, folder / "site", ROOT]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, path)), "LD_LIBRARY_PATH": str(folder / "driver"),
        "XDG_CACHE_HOME": str(folder / "cache"), "FAKE_CUDA_LOG": str(folder / "log"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "max_position_embeddings": 514}
    checkpoint = make_checkpoint(folder / "checkpoint", "roberta", **sizes)
    export_bundle(str(checkpoint), folder / "wide", precisions=("fp16",), force=True, log=lambda line: None)
    return folder / "wide"


def asked(log: Path, call: int) -> Counter[str]:
    """What a call asked of the device: kernels by name, products by types, copies by direction."""
    lines = log.read_text().split("CALL ")[1 + call].splitlines()[1:]
    return Counter(_shortened(line.split(" ", 2)[2]) for line in lines)


def _shortened(line: str) -> str:
    what, _, about = line.partition(" ")
    if what == "cublasGemmEx":
        return f"{what} {' '.join(re.findall(r'(?:A|C|compute)[0-9]+', about))}"
    return f"{what} {about.split(' ')[0]}".strip()


def test_a_packed_call_stays_on_the_device(bundle: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Two layers of width 1024: no node elsewhere, no copy between nodes, no wait and no allocation inside a call."""
    log = tmp_path / "log"
    graph = Bundle.load(bundle).variant("fp16.packed")
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(graph), str(tmp_path / "profile")],
        env=environment | {"FAKE_CUDA_LOG": str(log)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["torch"] is False
    nodes = [
        (event["args"]["provider"], event["args"]["op_name"])
        for event in json.loads(Path(said["profile"]).read_text())
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")
    ]
    assert {provider for provider, _ in nodes} == {"CUDAExecutionProvider"}
    operators = Counter(operator for _, operator in nodes)
    assert operators["PackedMultiHeadAttention"] == 3 * 2
    assert operators["Gemm"] == 3 * 2, "the two of the head: no other product has a bias"
    assert not [operator for operator in operators if operator.startswith("Memcpy")]
    found = asked(log, 2)
    attention = {name: n for name, n in found.items() if "attention" in name.lower()}
    ((kernel, times),) = attention.items()
    assert "cutlass" in kernel and "Sm80ELb1ELi64ELi64ELi64" in kernel and times == 2
    products = {name: n for name, n in found.items() if name.startswith("cublasGemmEx")}
    assert products == {f"cublasGemmEx A{FP16} C{FP16} compute{COMPUTE_FP32}": 12}
    assert not [name for name in found if "BroadcastBias" in name and "__half" in name]
    assert found["cudaMemcpyAsync HtoD"] == 4 and found["cudaMemcpyAsync DtoH"] == 1
    assert found["cudaStreamSynchronize"] == 2
    allocations = [name for call in (1, 2) for name in asked(log, call) if "alloc" in name.lower()]
    assert not allocations, "the first call's memory serves the others"


def test_a_run_on_cuda_from_parquet_to_parquet(bundle: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Rows with 5,000 distinct pairs of mixed lengths: their calls have few shapes, each with a plan of its own."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_PARITY)
    n = 2500
    facts = [[f"The Mill has {i} rooms{' and a view' * (i % 12)}."] for i in range(n)]
    table = pa.table(
        {"facts": facts, "text": [f"The Mill is a pub with {i} rooms{' too' * (i % 40)}." for i in range(n)]}
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    log = tmp_path / "log"
    path = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    command = ["run", str(tmp_path / "rows.parquet"), "--bundle", str(bundle), "--device", "cuda"]

    def score(out: str) -> str:
        """A run; the log of the device."""
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "scorer", *command, "--precision", "fp16", "--out", str(tmp_path / out)],
            env=environment | {"PYTHONPATH": path, "FAKE_CUDA_LOG": str(log)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return log.read_text()

    first = score("out")
    assert pq.read_table(tmp_path / "out" / "rows.parquet").num_rows == n
    run = json.loads((tmp_path / "out" / "_run.json").read_text())
    assert (run["device"]["kind"], run["device"]["name"]) == ("cuda", "NVIDIA H200")
    assert run["checks"]["unique"] == 2 * n
    assert json.loads((tmp_path / "out" / "_plan.json").read_text())["budgets"]["batch_tokens"] == 65536
    assert "AttentionKernelIN7cutlass" in first and first.count("cublasLtCreate") > 1
    again = score("again")
    assert again.count("cublasLtCreate") == 1, "a device that is known opens one session"
    # A block of attention has 64 places of a pair: two lengths share its first dimension.
    shapes = set(re.findall(r"attention_kernel\S+ grid (\d+),16,(\d+)", again))
    assert {blocks for blocks, _ in shapes} == {"1", "2", "4"} and len(shapes) <= 3 * 4, "three sizes a length"
