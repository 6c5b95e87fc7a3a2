"""The repository: no large blob enters the history again, and a release names its version and its licences once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import scorer
from scorer.errors import ShardError, install_hint, without_user_info
from tests.conftest import ROOT

LIMIT_BYTES = 1_000_000
LARGE = {
    "ac78ef0c61446c5069de2154a2e0bddf04933025": "scorer/embedded/general/model.data",
    "411cfdf7d3a911327e56cd15fe42167f1ead2083": "scorer/embedded/general/model.int8.onnx",
    "17ce21a81f113e1ac43f1c32982f9b7c3e18a9e4": "tests/bundles/e2e/model.data",
    "8bb0b2aaf12f2a269358aff5db9e7ffe05a52355": "tests/bundles/e2e/model.int8.onnx",
}
"""Large files by content: other weights under these names are not in the list."""
BEFORE = "447533d9040501f0208d94d84651c0cc25673fa8"
"""Up to this commit the history has 350 MB of weights. A shallow clone does not know it, nor what came before it."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def git(folder: Path, *arguments: str, given: str | None = None) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=given).stdout


def large_blobs(folder: Path, before: str) -> dict[str, str]:
    """Blobs over the limit in the commits of HEAD that a clone has, but for those of ``before``: a path by hash."""
    known = subprocess.run(["git", "-C", str(folder), "cat-file", "-e", before], capture_output=True, check=False)
    commits = ["HEAD", *([f"^{before}"] if known.returncode == 0 else [])]
    objects = git(folder, "rev-list", "--objects", *commits) + git(
        folder, "ls-tree", "-r", "--format=%(objectname) %(path)", "HEAD"
    )
    sizes = git(folder, "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname) %(rest)", given=objects)
    found = (line.split(" ", 3) for line in sizes.splitlines())
    return {name: path for kind, size, name, path in found if kind == "blob" and int(size) > LIMIT_BYTES}


def test_no_commit_adds_a_large_blob() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    unknown = {name: path for name, path in large_blobs(ROOT, BEFORE).items() if name not in LARGE}
    assert not unknown, "commits add files of over a megabyte; large files belong outside of the repository"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_large_blob_is_found_also_where_a_later_commit_removes_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    commits = []
    for name, size in (("old", 3), ("small", 0), ("new", 2), ("new", 0)):
        (tmp_path / name).write_bytes(name.encode() * size * LIMIT_BYTES)
        git(tmp_path, "add", "-A")
        git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", name)
        commits.append(git(tmp_path, "rev-parse", "HEAD").strip())
    assert sorted(large_blobs(tmp_path, before="0" * 40).values()) == ["new", "old"]
    assert sorted(large_blobs(tmp_path, before=commits[0]).values()) == ["new", "old"], "old is still there"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}", str(tmp_path / "shallow"))
    assert [*large_blobs(tmp_path / "shallow", before=commits[0]).values()] == ["old"]


def test_every_page_names_one_version() -> None:
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version  # type: ignore[index]


def test_licences_and_attribution_come_with_the_weights() -> None:
    assert PROJECT["license"] == "Apache-2.0 AND CC-BY-SA-4.0"
    texts = [(ROOT / name).read_text() for name in PROJECT["license-files"]]
    assert "Apache License" in texts[0] and texts[1].startswith("Attribution-ShareAlike 4.0 International")
    assert "Licence of the weights: CC BY-SA 4.0" in (ROOT / "scorer" / "embedded" / "MODEL_CARD.md").read_text()


MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"^\.PHONY: ((?:.|\\\n)*?)$(?<!\\)", MAKEFILE, re.MULTILINE)[1].replace("\\\n", " ").split()  # type: ignore[index]
IN_A_CLONE = "tests/test_targets.py::test_a_target_does_what_it_is_for"
README_FROM_THE_TOP = "tests/docs/test_site.py::test_the_readme_from_the_top_in_a_clean_clone"
TESTS_OF_TARGETS = {
    "help": "tests/test_repository.py::test_help_lists_every_target_for_people",
    "demo": README_FROM_THE_TOP,
    **dict.fromkeys(("test", "test-slow"), "tests/test_targets.py::test_the_suites_are_lint_smoke_and_pytest"),
    "clean": "tests/test_targets.py::test_clean_removes_all_that_targets_make",
    **dict.fromkeys(("lint", "format", "trace", "smoke", "test-lowest", "lock", "audit-deps"), IN_A_CLONE),
    **dict.fromkeys(("docs", "figures", "reproduce", "bench", "bench-peers", "bench-gpu"), IN_A_CLONE),
}
"""The test that runs each target, or in a dry run each suite."""
TESTS_OF_README = {
    **dict.fromkeys(("git clone", "make demo", "pip install"), README_FROM_THE_TOP),
    "scorer check": "tests/docs/test_examples.py::test_the_check_of_the_readme_prints_what_the_readme_shows",
    "scorer templates": "tests/commands/test_try_templates.py::test_what_it_says_of_a_sample",
    "scorer run": README_FROM_THE_TOP,
    "scorer audit": README_FROM_THE_TOP,
    "scorer export": "tests/export/test_bundle_writer.py::test_scorer_export_then_doctor",
    "scorer doctor": "tests/export/test_bundle_writer.py::test_scorer_export_then_doctor",
}
"""The test of each command in the blocks of README.md."""


def test_help_lists_every_target_for_people() -> None:
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {"demo", "test", "test-lowest"} < set(TARGETS)
    assert [name for name in TARGETS if name != "help" and not re.search(rf"make {name}\b", shown)] == []


def test_every_command_of_makefile_and_readme_has_a_test() -> None:
    files = re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE)
    assert set(TARGETS) == set(TESTS_OF_TARGETS) == set(files), "a target without a test, or not in .PHONY"
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    shell = "\n".join(block for language, block in blocks if language in ("", "sh"))
    commands = set(re.findall(r"^([a-z]+ [a-z-]+)", shell, re.MULTILINE))
    assert commands == set(TESTS_OF_README), "a command of the README without a test"


@pytest.mark.parametrize(("command", "test"), sorted({**TESTS_OF_TARGETS, **TESTS_OF_README}.items()))
def test_the_test_of_a_command_names_it(command: str, test: str) -> None:
    file, _, name = test.partition("::")
    source = (ROOT / file).read_text()
    assert re.search(rf"^def {name}\(", source, re.MULTILINE)
    assert re.search(rf"\b{command.split()[-1]}\b", source)


LOCKS = {
    extra: (ROOT / f"requirements{suffix}.lock").read_text()
    for extra, suffix in (("cpu", ""), ("gpu", "-gpu"), ("objects", "-objects"))
}
PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
PINS = {
    extra: {
        canonicalize_name(name): (version, hashes.count("--hash")) for name, version, _, hashes in PIN.findall(lock)
    }
    for extra, lock in LOCKS.items()
}
"""Version and number of hashes of each package of a lock."""


@pytest.mark.parametrize("extra", LOCKS)
def test_every_line_is_a_pin_with_its_hashes_in_the_version_of_the_constraints(extra: str) -> None:
    lock, pins = LOCKS[extra], PINS[extra]
    rest = [line for line in PIN.sub("", lock).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert rest == [] and "://" not in lock and "--index" not in lock
    for name in ("numpy", "pyarrow", "tokenizers", *{"cpu": ["onnxruntime"], "objects": ["obstore"]}.get(extra, ())):
        assert pins[name][1] > 5, "a compiled package has the wheels of all platforms"
    lines = (ROOT / "constraints.txt").read_text().split()
    constrained = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    of_cuda = {name for name in pins if name.startswith("nvidia-") or name == "onnxruntime-gpu"}
    assert bool(of_cuda) == (extra == "gpu")
    assert {name: constrained.get(name) for name in pins.keys() - of_cuda} == {
        name: version for name, (version, _) in pins.items() if name not in of_cuda
    }


def test_the_locks_differ_in_the_runtime_alone() -> None:
    assert PINS["cpu"].keys() - PINS["gpu"].keys() == {"onnxruntime"}
    more = PINS["gpu"].keys() - PINS["cpu"].keys()
    assert {"onnxruntime-gpu", "nvidia-cublas", "nvidia-cudnn-cu13"} < more
    assert not {name for name in more - {"onnxruntime-gpu"} if not name.startswith("nvidia-")}
    assert PINS["gpu"]["onnxruntime-gpu"][0] == PINS["cpu"]["onnxruntime"][0]
    assert PINS["objects"].keys() - PINS["cpu"].keys() == {"obstore"}


@pytest.mark.parametrize("extra", ["cpu", "objects"])
def test_what_the_project_and_its_dependencies_ask_for_is_there_and_nothing_else(extra: str) -> None:
    """The closure of the run-time dependencies and the extra, as the packages that are installed tell it."""
    pins = PINS[extra]
    asked = [Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra])]
    for requirement in asked:
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)][0], prereleases=True)
    found: set[str] = set()
    waiting = [canonicalize_name(requirement.name) for requirement in asked]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = [Requirement(text) for text in metadata.requires(name) or []]
            waiting += [
                canonicalize_name(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})
            ]
    # What only other platforms need has a marker that says which.
    markers = {canonicalize_name(name) for name, _, marker, _ in PIN.findall(LOCKS[extra]) if marker}
    assert found <= pins.keys() and pins.keys() - found <= markers


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("http://user:pass@host/x", "http://***@host/x"),
        (
            "a http://u:p@w@host:1, https://token@b and s3://b/k@v1",
            "a http://***@host:1, https://***@b and s3://b/k@v1",
        ),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
        ("abfss://c:secret@account/x", "abfss://***@account/x"),
        ("mail a@b.c", "mail a@b.c"),
    ],
)
def test_user_information_is_masked(given: str, shown: str) -> None:
    assert without_user_info(given) == shown == str(ShardError(given, "unreadable"))


def test_a_source_tree_has_no_version_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    assert scorer.__version__ == metadata.version("d2t-scorer")
    monkeypatch.setattr(metadata, "version", version)
    assert scorer.__version__ == "not installed"


def test_what_to_install_is_said_for_a_package_and_for_a_clone() -> None:
    assert install_hint("export", "cpu") == (
        "install the extras export,cpu (pip install 'd2t-scorer[export,cpu]', in a clone pip install '.[export,cpu]')"
    )


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
