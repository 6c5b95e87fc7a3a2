"""The version, of an installed package and of a source tree that nobody installed."""

from __future__ import annotations

from importlib import metadata

import pytest

import scorer

REAL = metadata.version


def test_a_source_tree_has_no_version_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "d2t-scorer":
            raise metadata.PackageNotFoundError(name)
        return REAL(name)

    assert scorer.__version__ == REAL("d2t-scorer")
    monkeypatch.setattr(metadata, "version", version)
    assert scorer.__version__ == "not installed"
