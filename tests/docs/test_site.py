"""The examples run, and the README's blocks run in their order in a clean clone."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT

DATASETS = ROOT / ".venv-datasets" / "bin" / "python"
RAY = ROOT / ".venv-ray" / "bin" / "python"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def needs(package: str) -> pytest.MarkDecorator:
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed; `make test-slow` installs it")


def run(*command: object, folder: Path = ROOT, environment: dict[str, str] = ENVIRONMENT) -> str:
    """Standard output of a command that succeeds."""
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


@needs("pandas")
def test_a_data_frame() -> None:
    printed = run(sys.executable, "examples/dataframe.py")
    assert [line.split()[-2] for line in printed.splitlines()[1:]] == ["omission", "hallucination"]


@pytest.mark.slow
@pytest.mark.skipif(not DATASETS.exists(), reason="datasets is in the environment that `make test-slow` makes")
def test_a_hugging_face_dataset() -> None:
    assert run(DATASETS, "examples/datasets_map.py").strip() == "['OK', 'omission']"


@pytest.mark.slow
@pytest.mark.skipif(not RAY.exists(), reason="Ray is in the environment that `make test-slow` makes")
def test_ray_data(tmp_path: Path) -> None:
    run(RAY, "examples/ray_data.py", "scorer/embedded/domains.parquet", tmp_path / "out")
    scored = pq.read_table(tmp_path / "out")
    assert scored.num_rows == 12
    assert set(scored["rough"].to_pylist()) == {"OK", "not_OK"}


@pytest.mark.slow
def test_the_readme_from_the_top_in_a_clean_clone(tmp_path: Path) -> None:
    """Every `sh` block in order, as a stranger types them, but for `make test`, which is this."""
    rows = ROOT / "scorer" / "embedded" / "domains.parquet"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    script = ["set -eu", f"python3() {{ '{sys.executable}' \"$@\"; }}"]
    for language, block in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        if language != "sh":
            continue
        block = block.replace("--depth 1 REPOSITORY", f"--depth 1 'file://{ROOT}'")
        script += [line for line in block.splitlines() if not line.startswith("make test")]
    # An environment of their own, as `pip install` of a stranger needs one.
    script.insert(4, "python3 -m venv own && PATH=$PWD/own/bin:$PATH")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]
    assert "omission (not_OK)" in done.stdout
    clone = tmp_path / "d2t-scorer"
    shutil.copy(rows, clone / "data.parquet")
    assert (clone / "demo-out" / "domains.parquet").exists()
    scorer = clone / "own" / "bin" / "scorer"
    run(scorer, "run", "data.parquet", "--out", "scored", "--bundle", "embedded", folder=clone, environment=environment)
    run(scorer, "audit", "scored", "--report", "report.html", folder=clone, environment=environment)
    assert (clone / "report.html").stat().st_size < 1 << 20
