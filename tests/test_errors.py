"""No message shows the user and the password of a URL."""

from __future__ import annotations

from importlib import metadata

import pytest

import scorer
from scorer.errors import ShardError, install_hint, without_user_info


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
