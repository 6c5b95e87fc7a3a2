"""The Dockerfile without a daemon: its steps, one by one, with an environment in place of each stage."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from packaging.utils import canonicalize_name

from tests.conftest import ROOT
from tests.test_targets import OFFLINE, clone

STEP = re.compile(r"^([A-Z]+) (.*)$", re.MULTILINE)
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def steps() -> list[tuple[str, str]]:
    """Instructions with their arguments, in order."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    return STEP.findall("\n".join(lines).replace("\\\n", " "))


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """Standard output; a skip where the package index cannot be reached."""
    ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode and (why := OFFLINE.search(ended.stderr)):
        pytest.skip(f"the package index cannot be reached: {why[0]}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


def test_every_instruction_is_known_and_the_locks_are_there() -> None:
    assert [name for name, _ in steps()] == ["FROM", "COPY", "RUN", "FROM", "ARG", "RUN", "USER", "ENV", "ENTRYPOINT"]
    assert {path.name for path in ROOT.glob("requirements*.lock")} == {
        "requirements.lock", "requirements-gpu.lock", "requirements-objects.lock",
    }  # fmt: skip
    assert "requirements*.lock" in (ROOT / "MANIFEST.in").read_text()


@pytest.mark.slow
def test_the_image_scores_with_the_versions_of_its_locks(tmp_path: Path) -> None:
    places = {"/src": str(clone(tmp_path / "src")), "/built": str(tmp_path / "built")}
    environment = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
    stage, entry = 0, list[str]()
    for name, text in steps():
        if name == "FROM":
            stage += 1
            subprocess.run([sys.executable, "-m", "venv", tmp_path / f"stage-{stage}"], check=True)
            environment["PATH"] = f"{tmp_path / f'stage-{stage}' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        elif name == "ARG":
            assert text == "EXTRA=cpu"
            environment["EXTRA"] = "cpu,objects"
        elif name == "RUN":
            script = re.sub(r"^\s*--mount=\S+", "", text)
            for path, place in places.items():
                script = script.replace(path, place)
            run(["sh", "-c", script], environment, tmp_path)
        elif name == "ENV":
            environment |= dict([text.split("=", 1)]) | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        elif name == "ENTRYPOINT":
            entry = json.loads(text)
    program = [str(tmp_path / f"stage-{stage}" / "bin" / entry[0])]
    sample = ROOT / "scorer" / "embedded" / "domains.parquet"
    run([*program, "run", str(sample), "--out", "out", "--bundle", "embedded"], environment, tmp_path)
    assert pq.read_table(tmp_path / "out" / "domains.parquet")["fine"].null_count == 0
    frozen = run(["pip", "list", "--format", "freeze"], environment, tmp_path)
    installed = {canonicalize_name(name): version for name, version in PIN.findall(frozen)}
    locked = (ROOT / name for name in ("requirements.lock", "requirements-objects.lock"))
    pins = {canonicalize_name(name): version for lock in locked for name, version in PIN.findall(lock.read_text())}
    assert {"onnxruntime", "obstore"} < installed.keys()
    assert installed.keys() - {"pip", "setuptools", "d2t-scorer"} <= pins.keys()
    assert [name for name in installed.keys() & pins.keys() if installed[name] != pins[name]] == []
