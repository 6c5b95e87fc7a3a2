"""Where the program does not run, it says so in one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import ROOT


def test_windows_is_refused_before_anything_is_imported() -> None:
    code = "import sys; sys.platform = 'win32'; from scorer.commands import main"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "scorer: Windows is not supported: use Linux, or Linux in WSL\n"


ELSEWHERE = """
import builtins, fcntl, io, os, resource, select, sys
sys.platform = "darwin"
for module, name in ((os, "memfd_create"), (os, "sched_getaffinity"), (fcntl, "F_SETPIPE_SZ"), (select, "epoll")):
    if hasattr(module, name):
        delattr(module, name)
set_limit, open_file = resource.setrlimit, io.open
def setrlimit(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    set_limit(which, limits)
def opened(file, *arguments, **named):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return open_file(file, *arguments, **named)
resource.setrlimit = setrlimit
builtins.open = io.open = opened
"""
"""Takes from a Python what only Linux has: some functions, limits of the address space, /proc."""


@pytest.mark.slow
def test_a_run_needs_nothing_that_only_linux_has(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ELSEWHERE)
    build = sysconfig._get_sysconfigdata_name()  # type: ignore[attr-defined]
    own = {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "_PYTHON_SYSCONFIGDATA_NAME": build}
    rows = ROOT / "scorer" / "embedded" / "domains.parquet"
    command = [sys.executable, "-m", "scorer", "run", rows, "--bundle", "embedded", "--out", tmp_path / "out", "--json"]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["rows"]["scored"] == 12


@pytest.mark.parametrize("target", [".venv/installed", ".venv-dev/installed"])
def test_an_old_python_is_refused_before_anything_is_installed(target: str, tmp_path: Path) -> None:
    found = re.search(rf"^{re.escape(target)}: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    for name in ("Makefile", *found[1].split()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"
    code = "import sys; sys.version_info = (3, 10, 0); sys.version = '3.10.0 (old)'; exec(sys.argv[2])"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    python.chmod(0o755)
    command = ["make", "-C", tmp_path, target, f"PYTHON={python}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode and f"Python 3.11 or later is needed, and {python} is 3.10.0" in ended.stderr
    assert not (tmp_path / target).parent.exists()
