"""The suite passes wherever it is started: a selection of tests, in one surrounding after the other."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import ROOT

SELECTED = (
    "tests/system",
    "tests/storage/test_user_files.py",
    "tests/run/test_runner.py",
    "tests/faults/test_surroundings.py",
    "tests/commands/test_config.py",
    "tests/inference/test_verification.py",
    "tests/audit/test_history.py",
)
"""Tests of signals, processes, locks, locales, dates, permissions, temporary files and the cache folder."""
COMPUTING = re.compile(r"^\s*(?:import|from) (?:torch|onnxruntime|transformers)\b", re.MULTILINE)
"""In the files of tests that compute on their own."""
LIMIT_S = 3000


def _ignoring(*numbers: int) -> Callable[[], None]:
    """Make a child start with these signals ignored, as `nohup` and a shell's `&` do."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers] and None


@dataclass(frozen=True)
class Surroundings:
    """Where pytest is started. ``environment``: ``None`` removes a variable; ``{}`` in a value is an empty folder."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    umask: int = -1
    before: Callable[[], None] | None = None


PLACES = {
    "in the background of a script, umask 077": Surroundings(
        umask=0o077, before=_ignoring(signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
    ),
    "without standard input, no home folder": Surroundings(
        {"HOME": None, "XDG_CACHE_HOME": None}, before=lambda: os.close(0)
    ),
    "locale C, a home folder that cannot be written, in random order": Surroundings(
        {"LANG": "C", "LC_ALL": "C", "HOME": "/proc", "XDG_CACHE_HOME": None, "TEST_ORDER_SEED": "1"},
        ("-p", "tests.shuffled", "-p", "no:randomly"),
    ),
    "German locale, far time zone, temporary files elsewhere": Surroundings(
        {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati", "TMPDIR": "{}/a b é"}
    ),
}
KERNELS = (
    ("ATEN_CPU_CAPABILITY", "default"),
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("ONEDNN_MAX_CPU_ISA", "SSE41"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE"),
    ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"),
)
"""Limits of PyTorch's own kernels and of oneDNN's; a limit above what the processor has changes nothing."""


def _passes(
    given: Surroundings, base: Path, before: Sequence[str] = (), cwd: Path = ROOT, tests: Sequence[str] = SELECTED
) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    for name, value in given.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value.replace("{}", str(base))
    if "TMPDIR" in given.environment:
        Path(environment["TMPDIR"]).mkdir(exist_ok=True)
    options = ["-n", "0", "-p", "no:cacheprovider", *given.arguments]
    ended = subprocess.run(
        [*before, sys.executable, "-m", "pytest", *options, *tests], cwd=cwd, env=environment, umask=given.umask,
        preexec_fn=given.before, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=None if given.before else subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert " passed" in ended.stdout or "[100%]" in ended.stdout


def test_what_is_selected_exists() -> None:
    assert [path for path in SELECTED if not (ROOT / path).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_tests_pass_wherever_they_are_started(place: str, tmp_path: Path) -> None:
    _passes(PLACES[place], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize(("variable", "kernels"), KERNELS)
def test_tests_pass_with_the_kernels_of_other_processors(
    variable: str, kernels: str, threads: str, tmp_path: Path
) -> None:
    if kernels == "avx2" and "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no AVX2")
    files = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if COMPUTING.search(path.read_text("utf-8")))
    given = Surroundings({variable: kernels, "OMP_NUM_THREADS": threads}, [f"--basetemp={tmp_path / 'base'}"])
    _passes(given, tmp_path, tests=[str(path.relative_to(ROOT)) for path in files])


@pytest.fixture
def alone() -> Iterator[Path]:
    """The repository without what stands next to it, in a folder that every user may enter, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="d2t-scorer-"))
    folder.chmod(0o755)
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
    yield Path(shutil.copytree(ROOT, folder / "alone", ignore=ignored, symlinks=True))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_tests_pass_without_the_evaluation_data(alone: Path, tmp_path: Path) -> None:
    _passes(Surroundings({"PYTHONPATH": str(alone)}), tmp_path, cwd=alone)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_tests_pass_as_another_user(alone: Path, tmp_path: Path) -> None:
    """Without the rights of root, but for reading, so that the environment need not be opened to everybody."""
    home = alone / "home"
    home.mkdir()
    for path in (alone, *alone.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    rights = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"]
    rights += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    own = {"PYTHONPATH": str(alone), "HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": None}
    _passes(Surroundings(own), tmp_path, ["setpriv", *rights], cwd=alone)
