"""The suite passes wherever it is started: a selection of tests, in one surrounding after the other."""

from __future__ import annotations

import os
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

pytestmark = pytest.mark.slow

SELECTED = (
    "tests/system",
    "tests/storage/test_user_files.py",
    "tests/storage/test_lease.py",
    "tests/storage/reading/test_reader.py",
    "tests/run/test_runner.py::test_an_interrupted_run_is_resumed_by_the_same_command",
    "tests/faults/test_surroundings.py::test_paths_with_blanks_and_unicode_under_locale_c",
    "tests/commands/test_config.py",
    "tests/system/test_streams.py::test_a_terminal_that_is_closed_under_the_progress_bar",
    "tests/inference/test_first_use.py::test_one_child_for_each_variant_and_none_on_the_second_use",
    "tests/inference/test_first_use.py::test_a_cache_that_cannot_be_written_costs_one_child_a_process",
    "tests/audit/test_history.py",
)
"""Tests of signals, processes, locks, locales, dates, permissions, temporary files and the cache folder."""
LIMIT_S = 900


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
        {
            "LANG": "de_DE.UTF-8",
            "LC_ALL": "de_DE.UTF-8",
            "LANGUAGE": "de",
            "TZ": "Pacific/Kiritimati",
            "TMPDIR": "{}/a b é",
        }
    ),
}


def _passes(command: Sequence[str], given: Surroundings, base: Path, cwd: Path = ROOT) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    for name, value in given.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value.replace("{}", str(base))
    if "TMPDIR" in given.environment:
        Path(environment["TMPDIR"]).mkdir(exist_ok=True)
    options = ["-n", "0", "-p", "no:cacheprovider", *given.arguments]
    ended = subprocess.run(
        [*command, "-m", "pytest", *options, *SELECTED], cwd=cwd, env=environment, umask=given.umask,
        preexec_fn=given.before, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=None if given.before else subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert " passed" in ended.stdout


@pytest.mark.parametrize("place", PLACES)
def test_tests_pass_wherever_they_are_started(place: str, tmp_path: Path) -> None:
    _passes([sys.executable], PLACES[place], tmp_path)


@pytest.fixture
def alone() -> Iterator[Path]:
    """The repository without what stands next to it, in a folder that every user may enter, as pytest's are not."""
    folder = Path(tempfile.mkdtemp(prefix="d2t-scorer-"))
    folder.chmod(0o755)
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
    yield Path(shutil.copytree(ROOT, folder / "alone", ignore=ignored, symlinks=True))
    shutil.rmtree(folder, ignore_errors=True)


def test_tests_pass_without_the_evaluation_data(alone: Path, tmp_path: Path) -> None:
    _passes([sys.executable], Surroundings({"PYTHONPATH": str(alone)}), tmp_path, cwd=alone)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_tests_pass_as_another_user(alone: Path, tmp_path: Path) -> None:
    """Without the rights of root, but for reading, so that the environment need not be opened to everybody."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    home = alone / "home"
    home.mkdir()
    for path in (alone, *alone.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    rights = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"]
    rights += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    own = {"PYTHONPATH": str(alone), "HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": None}
    _passes(["setpriv", *rights, sys.executable], Surroundings(own), tmp_path, cwd=alone)
