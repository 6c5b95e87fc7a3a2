"""Home folders in paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.errors import UsageError
from scorer.system.files import user_path


def test_a_tilde_is_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert user_path("~/a") == tmp_path / "a"
    assert user_path(Path("~")) == tmp_path
    for same in ("a/~/b", "a~", "", "/~nosuchuser", "."):
        assert user_path(same) == Path(same)
    with pytest.raises(UsageError, match="no user 'nosuchuser' on this machine"):
        user_path("~nosuchuser/a")
