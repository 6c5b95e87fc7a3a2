"""The suite passes wherever it is started: a selection of tests, in one surrounding after the other."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SELECTED = [
    "tests/system",
    "tests/storage/test_user_files.py",
    "tests/run/test_completion.py",
    "tests/faults/test_surroundings.py",
    "tests/commands/test_options.py",
    "tests/inference/test_verification.py",
    "tests/audit/test_command.py",
]
"""Tests of signals, processes, locks, locales, dates, permissions, temporary files and the cache folder."""
COMPUTING = re.compile(r"^\s*(?:import|from) (?:torch|onnxruntime|transformers)\b", re.MULTILINE)
LIMIT_S = 3000


def _ignoring_signals() -> None:
    """As `nohup` and a shell's `&` do."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


PLACES: dict[str, dict[str, Any]] = {
    "in the background of a script, umask 077": {"umask": 0o077, "preexec_fn": _ignoring_signals},
    "without standard input, locale C, a home folder that cannot be written": {
        "own": {"LANG": "C", "LC_ALL": "C", "HOME": "/proc", "XDG_CACHE_HOME": None},
        "preexec_fn": lambda: os.close(0),
    },
    "German locale, far time zone, temporary files elsewhere, no home folder": {
        "own": {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati", "HOME": None, "XDG_CACHE_HOME": None},
        "temporary": "a b é",
    },
    # A limit above what the processor has changes nothing.
    "kernels of an old processor": {
        "own": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OMP_NUM_THREADS": "1"}
    },
    "kernels of another processor, two threads": {"own": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "OMP_NUM_THREADS": "2"}},
}
"""Arguments of :func:`_passes`. ``None`` removes a variable."""


def _passes(
    base: Path,
    tests: Sequence[str] = SELECTED,
    before: Sequence[str] = (),
    own: dict[str, str | None] | None = None,
    temporary: str | None = None,
    cwd: Path = ROOT,
    **more: Any,
) -> None:
    environment: dict[str, str | None] = {name: x for name, x in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= own or {}
    if temporary is not None:
        (base / temporary).mkdir(exist_ok=True)
        environment["TMPDIR"] = str(base / temporary)
    options = ["-n", "0", "-p", "no:cacheprovider", f"--basetemp={base / 'base'}"]
    ended = subprocess.run(
        [*before, sys.executable, "-m", "pytest", *options, *tests], cwd=cwd, start_new_session=True, text=True,
        env={name: x for name, x in environment.items() if x is not None}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=None if "preexec_fn" in more else subprocess.DEVNULL, timeout=LIMIT_S, **more,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert " passed" in ended.stdout or "[100%]" in ended.stdout


def test_what_is_selected_exists() -> None:
    assert [path for path in SELECTED if not (ROOT / path).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_tests_pass_wherever_they_are_started(place: str, tmp_path: Path) -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py")) if place.startswith("kernels") else []
    computing = [str(path.relative_to(ROOT)) for path in files if COMPUTING.search(path.read_text("utf-8"))]
    _passes(tmp_path, computing or SELECTED, **PLACES[place])


@pytest.fixture
def alone() -> Iterator[Path]:
    """The repository without what stands next to it, in a folder that every user may enter, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="d2t-scorer-"))
    folder.chmod(0o755)
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
    yield Path(shutil.copytree(ROOT, folder / "alone", ignore=ignored, symlinks=True))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_tests_pass_as_another_user_without_the_evaluation_data(alone: Path) -> None:
    """Without the rights of root, but for reading, so that the environment need not be opened to everybody."""
    home = alone / "home"
    home.mkdir()
    for path in (alone, *alone.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    rights = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"]
    rights += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    own = {"PYTHONPATH": str(alone), "HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": None}
    _passes(home, before=["setpriv", *rights], own=own, cwd=alone)
