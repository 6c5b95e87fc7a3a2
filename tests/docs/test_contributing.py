"""CONTRIBUTING.md names files, folders and functions; what it names exists."""

from __future__ import annotations

import re

from tests.conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCES = [path for folder in ("scorer", "export", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
QUOTED = sorted(set(re.findall(r"`([^`\s]+)`", PAGE)))
NAME = re.compile(r"_?[a-z]+(_[a-z]+)+|_?[A-Z_]{5,}|_[a-z]+")


def test_what_it_names_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    for name in QUOTED:
        if name.endswith("/"):
            assert (ROOT / name).is_dir() or (ROOT / "scorer" / name).is_dir(), name
        elif name.endswith(".py"):
            named = any(f"/{path.as_posix()}".endswith(f"/{name}") for path in SOURCES)
            assert named or (ROOT / name).is_file(), name
        elif NAME.fullmatch(name):
            assert re.search(rf"\b{name}\b", code), name
