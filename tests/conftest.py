"""Fixtures that every test folder shares."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from typer import testing

# Tests start hundreds of processes; where this is set, each would compile the program again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Several processes of tests share the cores. Threads of torch and OpenBLAS would wait for each other, spinning: what
# takes four seconds on one thread takes minutes on two of a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# An example may take as long as a busy machine lets it; how many there are bounds the time.
settings.register_profile("d2t-scorer", deadline=None)
settings.load_profile("d2t-scorer")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


NEEDS = {
    "export": ("export/", "training/"),
    "objects": ("faults/test_stores.py", "server"),
    "ray": ("faults/test_ray.py",),
    "airflow": ("audit/test_airflow.py",),
    "browser": ("audit/report/test_browser.py",),
    "cuda": ("inference/test_stand_in.py",),
    "data": ("shared_data", "bad_data"),
}
"""By marker, the tests that need what it stands for (pyproject.toml): folders and files, or fixtures."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and leave slow ones out unless `-m` names them."""
    skip = pytest.mark.skip(reason="slow: run by `make test-slow`")
    for item in items:
        path, fixtures = item.path.relative_to(ROOT / "tests").as_posix(), getattr(item, "fixturenames", ())
        for marker, named in NEEDS.items():
            if path.startswith(named) or not {*named}.isdisjoint(fixtures):
                item.add_marker(marker)
        if item.get_closest_marker("slow") and "slow" not in (config.option.markexpr or ""):
            item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> None:
    """Give tests and their processes the default signals, which a parent may have ignored (`nohup make test &`)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A test that leaves a handler of a signal behind fails itself, instead of the next one that sends the signal."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    assert {number: signal.getsignal(number) for number in before} == before


def _shared(name: str) -> Path:
    """A folder of data that is not part of the repository."""
    if not (SHARED / name).is_dir():
        pytest.skip(f"there is no data at {SHARED / name}; this test needs it")
    return SHARED / name


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real evaluation data."""
    return _shared("public")


@pytest.fixture(scope="session")
def bad_data() -> Path:
    """Broken inputs."""
    return _shared("bad")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is learned of devices out of the user's own cache, and shared within a test session.

    Of the session, since fixtures of a module start before those of a test. The processes of pytest-xdist share it:
    each has a folder of its own in that of the session.
    """
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"))
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the follow-along model, fp32 and int8 (which is the same model under another name)."""
    from tests.bundles import make_bundle  # importing onnx takes long, and most tests do without

    return make_bundle(tmp_path_factory.mktemp("bundles") / "tiny", precisions=("fp32", "int8"))


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """Make the commands of an application from its functions once, and not in each of thousands of calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", functools.cache(testing._get_command))
        yield


@pytest.fixture(scope="module")
def inline_runs() -> Iterator[type[Any]]:
    """Let the runs of a file score in this process, where workers would cost more than a second of `make test`.

    A worker is .96 s of processor time more (of six pairs of runs of 30 rows), so a file of three runs or more may ask
    for this. These do: commands/test_commands, test_console, test_ending, test_hostile_text; faults/test_changes,
    test_models, test_surroundings; run/test_completion, test_joint_facts, test_preview, test_row_info,
    test_run_status, test_sentence_facts; run/reuse/test_chains, test_nights; scoring/test_valid_strings. Runs with
    ``--devices`` have workers there, too.
    """
    with _scoring_here() as workers:
        yield workers


@pytest.fixture
def inline_run() -> Iterator[None]:
    """Let the runs of one test score in this process, which it changes; other tests of its file have workers."""
    with _scoring_here():
        yield


@contextmanager
def _scoring_here() -> Iterator[type[Any]]:
    from scorer.run import processes
    from scorer.run.inline import Inline

    workers = processes.Processes

    def executor(job: Any, places: Any, reporter: Any) -> Any:
        return workers(job, places, reporter) if places[0].name else Inline(job, reporter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "Processes", executor)
        yield workers


@pytest.fixture
def real_workers(monkeypatch: pytest.MonkeyPatch, inline_runs: type[Any]) -> None:
    """Start a worker process for each run of a test of such a file."""
    from scorer.run import processes

    monkeypatch.setattr(processes, "Processes", inline_runs)
