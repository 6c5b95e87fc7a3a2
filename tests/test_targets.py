"""Targets of the Makefile, each in a clean clone, with the environments of this tree.

An environment that is missing is installed first; where the package index cannot be reached, its tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.benchmarks.paper.test_reproduce import E2E, WEBNLG
from tests.conftest import ROOT

OFFLINE = re.compile(r"from versions: none|Connection|Temporary failure|timed out|could not be audited|No space left")
"""What pip, uv, pip-audit and npm print where the index, its advisories or the disk are out of reach."""
BUNDLE = f"BUNDLE={ROOT / 'tests' / 'bundles' / 'e2e'}"


@dataclass(frozen=True)
class Target:
    """A target as people type it.

    Args:
        prints: a part of what it prints.
        environments: suffixes of ``.venv``, which are installed before.
        given: variables of the command.
        writes: a file that it makes.
        changes: tracked files that it is for.
    """

    name: str
    prints: str
    environments: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    writes: str = "Makefile"
    changes: Sequence[str] = field(default=())


TARGETS = (
    Target("lint", "0 broken", ("-dev",)),
    Target("format", "All checks passed", ("-dev",)),
    Target("trace", "functions in ", ("-dev",)),
    Target("smoke", "smoke: passed", ("",)),
    Target("test-lowest", "4 passed, 0 failed", ("-lowest",)),
    Target("lock", "", ("-audit",), changes=("requirements",)),
    Target("audit-deps", "No known vulnerabilities", ("-audit",)),
    Target("docs", "Documentation built", ("-docs",), writes="build/docs/using/index.html"),
    Target("figures", "", ("-docs", "-dev"), changes=("docs/pictures/",)),
    Target("bench", "A million rows of six", ("",), ("DEVICE=cpu", BUNDLE), writes=".bench/throughput/result.json"),
    Target("bench-peers", "embedded model", ("-bench",), ("SMOKE=1",), writes=".bench/results/smoke.json"),
    Target(
        "bench-gpu", "many: ", ("-dev",), ("DEVICE=cpu", "PAIRS=40", BUNDLE, "CHECKPOINT=none"),
        writes=".bench/gpu/results.jsonl",
    ),
    Target(
        "reproduce", "Default", ("-dev",),
        (BUNDLE, "DATA=build/data", "TEMPLATES_E2E=build/e2e.json", "TEMPLATES_WEBNLG=build/webnlg.json"),
        writes="reproduce-out/figures.json",
    ),
)  # fmt: skip


def clone(folder: Path) -> Path:
    """A clean clone of the last commit."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    command = ["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The ended ``make`` in a folder; a skip where it needs a network that is not there."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTEST", "MFLAGS"))}
    own["PYTHONPATH"] = str(folder)  # of the environments, which hold this tree, too
    ended = subprocess.run(["make", *arguments], cwd=folder, env=own, capture_output=True, text=True, check=False)
    if ended.returncode and (why := next(filter(OFFLINE.search, ended.stderr.splitlines()), None)):
        pytest.skip(f"make {arguments[-1]}: {why[:200]}")
    return ended


def lend(folder: Path, environment: str) -> None:
    """Let a clone use an environment of this tree. That of the tests themselves is there, or runs elsewhere."""
    name = f".venv{environment}"
    if environment != "-dev":
        ended = make(ROOT, f"{name}/installed")
        assert ended.returncode == 0, ended.stderr
    elif not (ROOT / name / "bin" / "pytest").exists():
        pytest.skip("there is no .venv-dev; `make test-slow` installs it")
    (folder / name).symlink_to(ROOT / name)


def changed(folder: Path) -> list[str]:
    """Tracked files that are not as committed."""
    command = ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line[3:] for line in found.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_target_does_what_it_is_for(target: Target, tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    for environment in target.environments:
        lend(folder, environment)
    data = folder / "build" / "data"
    data.mkdir(parents=True)
    pq.write_table(E2E, data / "e2e_primary.parquet")
    pq.write_table(WEBNLG, data / "webnlg17_humeval.parquet")
    for name, template in (("e2e", "eatType"), ("webnlg", "birthPlace")):
        (folder / "build" / f"{name}.json").write_text(f'{{"{template}": ["<subject> has <object> ."]}}')
    installed = [word for one in target.environments for word in ("-o", f".venv{one}/installed")]
    ended = make(folder, *installed, *target.given, target.name)
    assert ended.returncode == 0, ended.stderr
    assert target.prints in ended.stdout + ended.stderr
    assert (folder / target.writes).exists()
    assert [path for path in changed(folder) if not path.startswith(tuple(target.changes) or "/")] == []


def test_the_suites_are_lint_smoke_and_pytest() -> None:
    """As make would run them: the suite is what runs this test."""
    installed = [word for one in ("", "-dev") for word in ("-o", f".venv{one}/installed")]
    ended = make(ROOT, "--dry-run", *installed, "test")
    assert re.search(r"lint smoke\n(.*\n)*\.venv-dev/bin/pytest -n 2", ended.stdout), ended.stderr
    ended = make(ROOT, "--dry-run", *installed, "test-slow")
    assert ".venv-dev/bin/pytest -m slow" in ended.stdout, ended.stderr


@pytest.mark.parametrize(
    ("given", "driver", "environment"),
    [
        ("", False, ".venv"),
        ("", True, ".venv-gpu"),
        ("DEVICE=cpu", True, ".venv"),
        ("DEVICE=cuda:1", False, ".venv-gpu"),
    ],
)
def test_the_benchmark_takes_the_environment_of_the_device(
    given: str, driver: bool, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\n" + ("echo 'GPU 0: H200'\n" if driver else "exit 9\n"))
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    installed = [word for one in ("", "-gpu") for word in ("-o", f".venv{one}/installed")]
    printed = make(ROOT, "--dry-run", *installed, *given.split(), "bench").stdout
    assert printed.startswith(f'{environment}/bin/python -m benchmarks.speed.throughput --bundle "embedded"')
    device = given.partition("=")[2] or "auto"
    assert f'--device "{device}"' in printed


def test_clean_removes_all_that_targets_make(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    shutil.copy(ROOT / "Makefile", tmp_path)
    made = {*re.findall(r"^(\.venv[\w-]*|\.cuda)/installed:", makefile, re.MULTILINE), "demo-out", "build"}
    assert {".venv", ".venv-dev", ".venv-bench", ".cuda"} < made
    for name in made:
        (tmp_path / name).mkdir()
    assert make(tmp_path, "clean").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
