"""The files of docs/scale.md: the script for SLURM runs as it stands, with one process for each index of its array."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.test_nightly import program
from tests.bundles import make_bundle
from tests.conftest import ROOT
from tests.docs.test_examples import blocks
from tests.faults import harness

RAY = ROOT / ".venv-ray" / "bin" / "python"


def block(language: str, beginning: str) -> str:
    (found,) = [one for one in blocks(ROOT / "docs" / "scale.md", language) if one.startswith(beginning)]
    return found


def test_the_options_of_the_job_are_those_of_the_script() -> None:
    wanted = {"--out", "--bundle", "--templates", "--part"}
    for text in (block("sh", "#!/bin/sh"), block("yaml", "apiVersion")):
        assert set(re.findall(r"--\w+", text[text.index("scorer run") :])) == wanted


@pytest.mark.slow
def test_the_slurm_script_runs_for_every_index(tmp_path: Path) -> None:
    home = tmp_path / "d2t"
    (home / "venv" / "bin").mkdir(parents=True)
    program(home / "venv" / "bin" / "scorer", f'exec "{sys.executable}" -m scorer "$@" --max-error-rate 1')
    harness.make_data(home / "data")
    make_bundle(home / "bundle")
    (home / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')
    script = tmp_path / "score.slurm"
    script.write_text(block("sh", "#!/bin/sh"))
    first, last = map(int, re.findall(r"--array=(\d+)-(\d+)", script.read_text())[0])
    environment = {**os.environ, "D2T_HOME": str(home), "PYTHONPATH": str(ROOT)}
    workers = []
    for index in range(first, last + 1):
        own = {**environment, "SLURM_ARRAY_TASK_ID": str(index)}
        worker = subprocess.Popen(["sh", script], env=own, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        workers.append(worker)
    for worker in workers:
        harness.finish(worker)
    whole = tmp_path / "whole"
    harness.run(home / "data", whole, home / "bundle", "--templates", home / "templates.json")
    scored = {
        path.relative_to(part): path.read_bytes()
        for part in (home / "scored").iterdir()
        for path in part.rglob("*.parquet")
        if (part / "_SUCCESS").exists()
    }
    assert scored == {path.relative_to(whole): path.read_bytes() for path in whole.rglob("*.parquet")}


@pytest.mark.slow
@pytest.mark.skipif(not RAY.exists(), reason="the schema is in the environment that `make test-slow` makes for Ray")
def test_the_job_follows_the_schema_of_kubernetes() -> None:
    script = "import sys, yaml, kubernetes_validate as k; k.validate(yaml.safe_load(sys.stdin), '1.31', strict=True)"
    job = block("yaml", "apiVersion")
    done = subprocess.run([str(RAY), "-c", script], input=job, capture_output=True, text=True)
    assert not done.returncode, done.stderr
