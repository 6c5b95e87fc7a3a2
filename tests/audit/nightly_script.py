"""The scripts of ``examples/``, and a run of the nightly one on a date that a test sets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.bundles import RESTAURANTS
from tests.conftest import ROOT


def example(name: str) -> str:
    return (ROOT / "examples" / name).read_text(encoding="utf-8")


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run_script(home: Path, date: str, bundle: str = str(RESTAURANTS)) -> subprocess.CompletedProcess[str]:
    """Run the script of that night."""
    changes = {"D2T_HOME": str(home), "BUNDLE": bundle, "TODAY": date, "PYTHONPATH": str(ROOT)}
    environment = os.environ | changes
    return subprocess.run(["sh", "nightly.sh"], cwd=home, env=environment, capture_output=True, text=True, check=False)
