"""The repository: no large blob enters the history again, and a release names its version and its licences once."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

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


def test_help_lists_every_target_for_people() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: ((?:.|\\\n)*?)$(?<!\\)", makefile, re.MULTILINE)[1].replace("\\\n", " ").split()  # type: ignore[index]
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {"demo", "test", "test-lowest"} < set(targets)
    assert [name for name in targets if name != "help" and not re.search(rf"make {name}\b", shown)] == []
