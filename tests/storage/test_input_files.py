"""Which files inputs name, also as URIs, where their outputs go, and which inputs and outputs are refused."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import InputError, OutputError, UsageError
from scorer.storage import input_files
from scorer.storage.input_files import check_apart, find_files
from scorer.storage.location import StoreUri, local_path, parse_location
from tests.storage.backends import put

TREE = (
    "in/a.parquet",
    "in/b.PQ",
    "in/notes.txt",
    "in/_SUCCESS",
    "in/.hidden.parquet",
    "in/.git/x.parquet",
    "in/_receipts/a.parquet",
    "in/2026/01/c.parquet",
    "in/2026/02/c.parquet",
    "in/2026/02/d.parq",
    "other/a.parquet",
    "odd/a[1].parquet",
    "odd/with blank/ü.parquet",
    "one/n.parquet",
    "two/n.parquet/deep.parquet",
    "three/n.parquet.json/deep.parquet",
    "x" * 251,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        touch(tmp_path / name)
    return tmp_path


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


def found(tree: Path, *inputs: str) -> list[str]:
    """The outputs of inputs, which are sorted, and whose names are the last parts of their inputs' paths."""
    files = find_files([given.format(tree=tree) if "://" in given else f"{tree}/{given}" for given in inputs])
    assert all(file.uri.startswith("/") and file.uri.endswith(f"/{file.relative}") for file in files)
    assert files == sorted(files, key=lambda file: file.relative)
    return [file.relative for file in files]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("in/", ["2026/01/c.parquet", "2026/02/c.parquet", "2026/02/d.parq", "a.parquet", "b.PQ"]),
        ("in/2026/01/c.parquet", ["c.parquet"]),
        ("in/notes.txt", ["notes.txt"]),  # named is named, whatever it turns out to be
        ("odd/a[1].parquet", ["a[1].parquet"]),
        ("in/?.p*", ["a.parquet"]),
        ("in/*", ["2026/01/c.parquet", "2026/02/c.parquet", "2026/02/d.parq", "a.parquet", "b.PQ", "notes.txt"]),
        ("in/**/02/*", ["2026/02/c.parquet", "2026/02/d.parq"]),
        ("in/2026/*/c.parquet", ["01/c.parquet", "02/c.parquet"]),
        ("in/2026/*", ["01/c.parquet", "02/c.parquet", "02/d.parq"]),
        ("file://{tree}/odd/with%20blank/*.parquet", ["ü.parquet"]),
    ],
)
def test_an_output_is_named_from_the_folder_or_the_fixed_prefix(tree: Path, given: str, names: list[str]) -> None:
    assert found(tree, given) == names


@pytest.mark.parametrize(
    ("inputs", "error", "says"),
    [
        (["in", "other"], UsageError, r"in/a.parquet and .*other/a.parquet would both be written to a.parquet"),
        (["in/.hidden.parquet"], UsageError, "begin with '_' or '.'"),
        ([], UsageError, "no input was given"),
        ([""], UsageError, "is not a path"),
        (["none"], InputError, "none does not exist"),
        (["in/*.csv"], InputError, "matches no file"),
        (["empty"], InputError, r"has no file to read \(\*.parquet, .*, \*.ndjson.gz\)"),
        (["one", "two"], UsageError, "needs a folder where n.parquet is a file"),
        (["one", "three"], UsageError, "needs a folder where n.parquet.json is a file"),
        (["x" * 251], UsageError, "a name may have at most 250 bytes"),
    ],
)
def test_inputs_that_cannot_be_honoured(
    tree: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str], error: type[Exception], says: str
) -> None:
    (tree / "empty").mkdir()
    monkeypatch.chdir(tree)
    with pytest.raises(error, match=says):
        find_files(inputs)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder is looked through."""
    counted, real = Counter[str](), input_files._entries

    def entries(folder: Path) -> list[tuple[str, bool, bool]]:
        counted[str(folder.resolve())] += 1
        return real(folder)

    monkeypatch.setattr(input_files, "_entries", entries)
    return counted


def test_globs_of_many_stars_and_farms_of_links_look_into_each_folder_a_few_times(
    tmp_path: Path, listed: Counter[str]
) -> None:
    name = "a/" * 25 + "x.parquet"
    touch(tmp_path / "deep" / name)
    assert found(tmp_path, "deep/" + "**/a/" * 12 + "**/*.parquet") == [name]
    # Once for each part of the glob; without a memory it would be millions of times.
    assert max(listed.values()) <= 2 * 13 and len(listed) == 26
    for floor in range(30):  # with two links each to the next: a billion paths to one file
        (tmp_path / f"in/f{floor}").mkdir(parents=True)
        for side in ("left", "right"):
            (tmp_path / f"in/f{floor}/{side}").symlink_to(tmp_path / f"in/f{floor + 1}")
    touch(tmp_path / "in/f30/x.parquet")
    (tmp_path / "in/f30/circle").symlink_to(tmp_path / "in/f29")
    for given in ("in", "in/**/*.parquet", "in/f0"):
        listed.clear()
        assert len(found(tmp_path, given)) == 1, given
        assert max(listed.values()) <= 2, given
    assert found(tmp_path, "in") == ["f30/x.parquet"]  # not by a link, where there is another way


def test_the_folder_of_a_delta_table_is_refused(tree: Path) -> None:
    touch(tree / "in/2026/_delta_log/00000000000000000000.json")
    for given in ("in", "in/2026", "in/2026/*.parquet", "in/**/*.parquet"):
        with pytest.raises(InputError, match=r"in/2026 is a Delta table.*file_uris\(\)"):
            found(tree, given)


def test_an_output_among_the_inputs_is_refused(tree: Path) -> None:
    touch(tree / "in/2026/e.parquet")
    (tree / "link").symlink_to(tree / "in")
    (tree / "other/link.parquet").symlink_to(tree / "in/a.parquet")
    for given, out in (
        ("in", "in"),
        ("in", "link/scored"),
        ("in/2026", "in"),
        ("in/*.parquet", "in"),
        ("in/**/*.parquet", "in/deep/scored"),
        ("in/*/*.parquet", "in/scored"),
        ("in/2026/**", "in"),
        ("other/link.parquet", "in"),
        ("other/*.parquet", "in"),
    ):
        inputs = [f"{tree}/odd", f"{tree}/{given}"]
        with pytest.raises(OutputError, match="is inside"):
            check_apart(inputs, find_files(inputs), tree / out)
    for given, out in (
        ("in", "in2"),
        ("in/a.parquet", "in/scored"),
        ("in/*.parquet", "in/scored"),
        ("in/2026/*/c.parquet", "in/scored/deep"),
    ):
        check_apart([f"{tree}/{given}"], find_files([f"{tree}/{given}"]), tree / out)


def test_a_store_behind_uris(memory: Any) -> None:
    for name in TREE:
        put(StoreUri("s3", "bucket", ""), name, b"")

    def uris(given: str) -> dict[str, str]:
        return {file.relative: file.uri for file in find_files([given])}

    assert uris("s3://bucket/odd/with%20blank") == {"ü.parquet": "s3://bucket/odd/with%20blank/%C3%BC.parquet"}
    assert uris("s3://bucket/in/2026/*/d.parq") == {"02/d.parq": "s3://bucket/in/2026/02/d.parq"}
    assert uris("s3://bucket/in/a.parquet") == {"a.parquet": "s3://bucket/in/a.parquet"}
    with pytest.raises(InputError, match="does not exist"):
        uris("s3://bucket/none")
    with pytest.raises(UsageError, match=r"hdfs://\*\*\*@host/x is a URI .* may also be in s3, gs"):
        uris("hdfs://key:secret@host/x")
    check_apart(["s3://bucket/in"], find_files(["s3://bucket/in"]), Path("in"))
    out = StoreUri("s3", "bucket", "runs/a b")
    for inside in ("s3://bucket/runs", "s3://bucket/runs/a%20b/x.parquet", "s3://bucket/*", "s3://bucket"):
        with pytest.raises(OutputError, match="is inside"):
            check_apart([inside], [], out)
    check_apart(["s3://bucket/runs/a", "s3://other/runs", "local", "s3://bucket/runs/a%20bc"], [], out)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("~/out", "/home/me/out"),
        ("FILE:///a/b/", "/a/b"),
        ("file:/a", "/a"),
        ("file:///a%20b%2Fc", "/a b/c"),
        ("file:///caf%E9?b#c", os.fsdecode(b"/caf\xe9?b#c")),
        ("file:c.parquet", "file:c.parquet"),
        ("deep/s3://x", "deep/s3:/x"),
        ("nosuch+scheme://x", "not supported here"),
        ("file://host/a", "write file:///path"),
        ("", "not a path"),
        ("a\0b", "not a path"),
        ("file:///a%00b", "not a path"),
        ("~nosuchuser/x", "no user 'nosuchuser'"),
        ("s3://bucket/a%20b//c/", "s3://bucket/a%20b/c"),
        ("s3://key:secret@bucket/x", "contains credentials"),
        ("s3:///x", "names no bucket"),
        ("s3://bucket/x?region=y", "has a query"),
        ("s3://bucket/../x", "'..' as a part"),
    ],
)
def test_a_place_is_of_this_machine_or_in_a_store(given: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or why it is none. A Path made from a URI has lost one of its slashes."""
    monkeypatch.setenv("HOME", "/home/me")
    if " " not in found or found.startswith("/"):
        assert str(parse_location(given)) == found
        return
    with pytest.raises(UsageError, match=found) as caught:
        parse_location(given)
    assert "secret" not in str(caught.value)
    if "not supported" in found:
        with pytest.raises(UsageError, match=found):
            local_path(Path(given))
