"""CONTRIBUTING.md names files, folders and functions; what it names exists."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCES = [path for folder in ("scorer", "export", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
QUOTED = sorted(set(re.findall(r"`([^`\s]+)`", PAGE)))
NAME = re.compile(r"_?[a-z]+(_[a-z]+)+|_?[A-Z_]{5,}|_[a-z]+")


@pytest.mark.parametrize("name", [name for name in QUOTED if name.endswith("/")])
def test_folders_are_there(name: str) -> None:
    assert (ROOT / name).is_dir() or (ROOT / "scorer" / name).is_dir()


@pytest.mark.parametrize("name", [name for name in QUOTED if name.endswith(".py")])
def test_files_are_there(name: str) -> None:
    named = any(f"/{path.as_posix()}".endswith(f"/{name}") for path in SOURCES)
    assert named or (ROOT / name).is_file()


@pytest.mark.parametrize("name", [name for name in QUOTED if NAME.fullmatch(name)])
def test_functions_and_tables_are_there(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in SOURCES)
