"""docs/guarantees.md names tests; each of them exists."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "guarantees.md"
TESTS = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\btest_\w+(?:\.py)?", PAGE.read_text()))))
def test_files_and_functions_are_there(name: str) -> None:
    assert any(path.name == name or f"def {name}(" in text for path, text in TESTS.items())
