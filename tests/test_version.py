"""The version, of an installed package and of a source tree that nobody installed."""

from __future__ import annotations

from importlib import metadata

import pytest

import scorer
from scorer.run.totals import versions
from scorer.scoring.metric_rows import metric_versions

REAL = metadata.version


def _not_installed(name: str) -> str:
    if name == "d2t-scorer":
        raise metadata.PackageNotFoundError(name)
    return REAL(name)


def test_a_source_tree_has_no_version_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", _not_installed)
    assert scorer.__version__ == "not installed"
    found = versions(metric_versions())
    assert set(found) == {"d2t-scorer", "onnxruntime", "numpy", "pyarrow", "tokenizers"}
    assert found["numpy"] == REAL("numpy")


def test_an_installed_package_says_its_own() -> None:
    assert scorer.__version__ == REAL("d2t-scorer")
