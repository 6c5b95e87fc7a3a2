"""Paths as users name them: plain, as ``file://`` URIs, and the URIs that are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scorer.errors import UsageError
from scorer.storage.local_paths import local_path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("out", "out"),
        ("/a/b c", "/a/b c"),
        ("file:///a/b", "/a/b"),
        ("FILE:///a/b/", "/a/b"),
        ("file://localhost/a", "/a"),
        ("file:/a", "/a"),
        ("file:///a%20b%2Fc", "/a b/c"),
        ("file:///caf%C3%A9", "/café"),
        ("file:///caf%E9", os.fsdecode(b"/caf\xe9")),
        ("file:///a?b#c", "/a?b#c"),
        ("file:c.parquet", "file:c.parquet"),
        ("a:b", "a:b"),
        ("deep/s3://x", "deep/s3:/x"),
        ("c:/x", "c:/x"),
    ],
)
def test_paths_of_this_machine(given: str, found: str) -> None:
    assert str(local_path(given, "--out")) == found


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert local_path("~/out", "--out") == Path("/home/me/out")
    with pytest.raises(UsageError, match="--out: '~nosuchuser/x': there is no user 'nosuchuser'"):
        local_path("~nosuchuser/x", "--out")


@pytest.mark.parametrize(
    "given",
    ["s3://bucket/x", "gs://bucket", "S3://b/x", "abfss://c@a.dfs.core.windows.net/x", "hdfs:///x", "https://a/b",
     "nosuch+scheme://x", Path("s3://bucket/x"), Path("file:///x"), Path("gs://b")],
)  # fmt: skip
def test_uris_of_stores_are_refused(given: str | Path) -> None:
    with pytest.raises(UsageError, match=r"^--out: .*://\), which is not supported here; write a path"):
        local_path(given, "--out")


@pytest.mark.parametrize("given", ["file://host/a", "file://", "file://host"])
def test_files_of_other_machines_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="three slashes: file:///path"):
        local_path(given)


@pytest.mark.parametrize("given", ["", "a\0b", "file:///a%00b"])
def test_what_is_no_path(given: str) -> None:
    with pytest.raises(UsageError, match=r"not a path|null character"):
        local_path(given)
