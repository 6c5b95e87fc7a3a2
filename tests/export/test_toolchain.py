"""Missing extras are named."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

import pytest

from export import export_bundle
from scorer.errors import MissingDependencyError


@pytest.mark.parametrize(
    ("missing", "extra"),
    [
        (["torch"], r"needs torch, .*pip install 'd2t-scorer\[export\]'$"),
        (["onnxruntime", "torch"], r"needs torch, onnxruntime, .*\[export,cpu\]'.*\[export,gpu\]'"),
    ],
)
def test_missing_extras_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: list[str], extra: str
) -> None:
    real = util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        if name.split(".")[0] in missing:
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr(util, "find_spec", find)
    with pytest.raises(MissingDependencyError, match=extra):
        export_bundle("roberta-tiny", tmp_path / "out", random_init=True)
    assert not list(tmp_path.iterdir())
