"""What waits for nothing: the worker of a run, and the hash of the weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from scorer import Scorer
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from tests.conftest import ROOT

HOOK = """
import json, os, subprocess, sys

start = subprocess.Popen.__init__

def noted(self, *arguments, **options):
    with open(os.environ["STARTED"], "a") as file:
        print(json.dumps(sorted(sys.modules)), file=file)
    start(self, *arguments, **options)

subprocess.Popen.__init__ = noted
"""


@pytest.mark.parametrize(("options", "started"), [((), 1), (("--no-such-option",), 1), (("--help",), 0)])
def test_the_worker_starts_before_the_command_line_is_imported(
    options: tuple[str, ...], started: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    noted = tmp_path / "started"
    noted.touch()
    sample, out = ROOT / "scorer" / "embedded" / "domains.parquet", tmp_path / "out"
    subprocess.run(
        [sys.executable, "-m", "scorer", "run", sample, "--bundle", "embedded", "--out", out, *options],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "STARTED": str(noted)},
        capture_output=True,
        check=False,
    )
    assert (out / "_SUCCESS").exists() == (not options)
    processes = [set(json.loads(line)) for line in noted.read_text().splitlines()]
    assert len(processes) == started  # one worker in all
    assert not any({"typer", "rich", "pyarrow", "numpy"} & modules for modules in processes)


def test_the_weights_are_hashed_while_the_device_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, check, resolve = threading.Event(), Bundle.variant, verification.resolve_device

    def checked(bundle: Bundle, name: str) -> Path:
        found = check(bundle, name)
        hashed.set()
        return found

    def resolved(*arguments: Any) -> Any:
        assert hashed.wait(60)
        return resolve(*arguments)

    monkeypatch.setattr(Bundle, "variant", checked)
    monkeypatch.setattr(verification, "resolve_device", resolved)
    with Scorer.embedded(device="cpu") as scorer:
        assert scorer.score_facts(["Blue Spice is a pub."], "Blue Spice is a pub.").rough == "OK"
