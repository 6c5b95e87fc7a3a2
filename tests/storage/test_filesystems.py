"""Which files inputs name, where their outputs go, and which inputs and outputs are refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

from scorer.errors import InputError, OutputError, UsageError
from scorer.storage import check_apart, resolve_inputs
from scorer.storage.listing import Entry, LocalPlace
from scorer.storage.objects.uri import StoreUri
from tests.storage.backends import put

TREE = (
    "in/a.parquet",
    "in/b.PQ",
    "in/notes.txt",
    "in/_SUCCESS",
    "in/_plan.json",
    "in/.hidden.parquet",
    "in/_receipts/a.parquet",
    "in/2026/01/c.parquet",
    "in/2026/02/c.parquet",
    "in/2026/02/d.parq",
    "other/a.parquet",
    "other/year=1/x.parquet",
    "odd/a[1].parquet",
    "odd/with blank/ü.parquet",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return tmp_path


def found(tree: Path, *inputs: str) -> dict[str, str]:
    files = resolve_inputs([i if "://" in i or i.startswith("/") else f"{tree}/{i}" for i in inputs])
    assert [file.relative for file in files] == sorted(file.relative for file in files)
    assert all(file.uri.startswith("/") for file in files)
    return {file.relative: file.uri.removeprefix(f"{tree}/") for file in files}


def test_a_folder_is_mirrored(tree: Path) -> None:
    names = ["2026/01/c.parquet", "2026/02/c.parquet", "2026/02/d.parq", "a.parquet", "b.PQ"]
    assert found(tree, "in") == found(tree, "in/") == {name: f"in/{name}" for name in names}


def test_a_file_lands_at_its_name(tree: Path) -> None:
    assert found(tree, "in/2026/01/c.parquet") == {"c.parquet": "in/2026/01/c.parquet"}
    assert found(tree, "in/notes.txt") == {"notes.txt": "in/notes.txt"}  # named is named, whatever it turns out to be


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("in/*.parquet", ["a.parquet"]),
        ("in/?.p*", ["a.parquet"]),
        ("in/**/*.parquet", ["2026/01/c.parquet", "2026/02/c.parquet", "a.parquet"]),
        ("in/**/02/*", ["2026/02/c.parquet", "2026/02/d.parq"]),
        ("in/2026/*/c.parquet", ["01/c.parquet", "02/c.parquet"]),
        ("in/2026/*", ["01/c.parquet", "02/c.parquet", "02/d.parq"]),
        ("in/2026/**", ["01/c.parquet", "02/c.parquet", "02/d.parq"]),
        ("in/[ab].*", ["a.parquet", "b.PQ"]),
        ("in/**/**/d.parq", ["2026/02/d.parq"]),
    ],
)
def test_a_glob_is_relative_to_its_fixed_prefix(tree: Path, pattern: str, names: list[str]) -> None:
    assert list(found(tree, pattern)) == names


def test_file_uris(tree: Path) -> None:
    assert found(tree, (tree / "odd/with blank").as_uri()) == {"ü.parquet": "odd/with blank/ü.parquet"}
    assert list(found(tree, f"file://{tree}/in/*.parquet")) == ["a.parquet"]
    with pytest.raises(UsageError, match="three slashes"):
        resolve_inputs(["file://host/a.parquet"])


@pytest.mark.parametrize(
    ("inputs", "error", "says"),
    [
        (["in", "other"], UsageError, r"in/a.parquet and .*other/a.parquet would both be written to a.parquet"),
        (["in/_receipts/a.parquet", "in"], UsageError, "would both"),
        (["in/.hidden.parquet"], UsageError, "begin with '_' or '.'"),
        ([], UsageError, "no input was given"),
        ([""], UsageError, "is not a path"),
        (["a\0b"], UsageError, "is not a path"),
        (["none"], InputError, "none does not exist"),
        (["in/*.csv"], InputError, "matches no file"),
        (["empty"], InputError, r"has no file to read \(\*.parquet, .*, \*.ndjson.gz\)"),
    ],
)
def test_inputs_that_cannot_be_honoured(
    tree: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str], error: type[Exception], says: str
) -> None:
    (tree / "empty").mkdir()
    monkeypatch.chdir(tree)
    with pytest.raises(error, match=says):
        resolve_inputs(inputs)


def test_a_file_and_a_folder_of_one_name(tree: Path) -> None:
    for name in ("x/n.parquet/deep.parquet", "y/n.parquet", "z/n.parquet.json/deep.parquet"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_bytes(b"")
    for first in ("x", "z"):
        with pytest.raises(UsageError, match="a file and a folder of the same name"):
            found(tree, first, "y")


def test_a_name_too_long_for_its_receipt(tree: Path) -> None:
    for length in (250, 251):
        (tree / ("x" * length)).touch()
    assert list(found(tree, "x" * 250)) == ["x" * 250]
    with pytest.raises(UsageError, match="a name may have at most 250 bytes"):
        found(tree, "x" * 251)


def test_links_are_followed_and_loops_refused(tree: Path) -> None:
    (tree / "in/linked").symlink_to(tree / "other")
    assert found(tree, "in")["linked/a.parquet"] == "in/linked/a.parquet"
    (tree / "in/loop").symlink_to(tree / "in")
    with pytest.raises(InputError, match="loop is a link to a folder that contains it"):
        found(tree, "in")


class CountedPlace(LocalPlace):
    """Counts how often each folder is looked through."""

    listed: ClassVar[Counter[str]] = Counter()

    def entries(self) -> list[Entry]:
        self.listed[str(Path(self.path).resolve())] += 1
        return super().entries()


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    monkeypatch.setattr(CountedPlace, "listed", counted)
    monkeypatch.setattr("scorer.storage.filesystems.LocalPlace", CountedPlace)
    return counted


def test_a_glob_of_many_stars_looks_into_each_folder_a_few_times(tmp_path: Path, listed: Counter[str]) -> None:
    deep = tmp_path / "in" / "/".join("a" * 25)
    deep.mkdir(parents=True)
    (deep / "x.parquet").write_bytes(b"")
    pattern = "in/" + "**/a/" * 12 + "**/*.parquet"
    assert list(found(tmp_path, pattern)) == ["/".join("a" * 25) + "/x.parquet"]
    # Once for each part of the glob; without a memory it would be millions of times.
    assert max(listed.values()) <= 2 * 13 and len(listed) == 26


def test_a_farm_of_links_is_walked_once_each(tmp_path: Path, listed: Counter[str]) -> None:
    """Thirty floors with two links each to the next: a billion paths to one file."""
    for floor in range(30):
        (tmp_path / f"in/f{floor}").mkdir(parents=True)
        for side in ("left", "right"):
            (tmp_path / f"in/f{floor}/{side}").symlink_to(tmp_path / f"in/f{floor + 1}")
    (tmp_path / "in/f30").mkdir()
    (tmp_path / "in/f30/x.parquet").write_bytes(b"")
    for given in ("in", "in/**/*.parquet", "in/f0"):
        listed.clear()
        assert len(found(tmp_path, given)) == 1, given
        assert max(listed.values()) <= 2, given
    assert list(found(tmp_path, "in")) == ["f30/x.parquet"]  # not by a link, where there is another way


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    for name in ("in/a", "in/b"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.parquet").write_bytes(b"")
    (tmp_path / "in/a/to").symlink_to(tmp_path / "in/b")
    (tmp_path / "in/b/to").symlink_to(tmp_path / "in/a")
    assert list(found(tmp_path, "in")) == ["a/x.parquet", "b/x.parquet"]
    for given in ("in/a", "in/a/**/*.parquet"):
        with pytest.raises(InputError, match="to is a link to a folder that contains it"):
            found(tmp_path, given)


def test_hidden_files_are_no_inputs(tree: Path) -> None:
    before = found(tree, "in")
    for name in ("in/._a.parquet", "in/.DS_Store", "in/2026/._c.parquet", "in/.git/x.parquet"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes(b"")
    assert found(tree, "in") == before
    assert "._a.parquet" not in found(tree, "in/*")


@pytest.mark.parametrize(
    ("given", "out"),
    [
        ("in", "in"),
        ("in", "in/scored"),
        ("in", "in/_scored"),
        ("in", "in/../in/2026/scored"),
        ("in", "link/scored"),
        ("in/a.parquet", "in"),
        ("in/2026/01/c.parquet", "in"),
        ("in/2026", "in"),
        ("in/*.parquet", "in"),
        ("in/**/*.parquet", "in/scored"),
        ("in/*/*.parquet", "in/scored"),
        ("in/*", "in/scored"),
        ("in/2026/**", "in"),
        ("other/link.parquet", "in"),
        ("file://{tree}/in", "in/scored"),
    ],
)
def test_an_output_among_the_inputs(tree: Path, given: str, out: str) -> None:
    (tree / "link").symlink_to(tree / "in")
    (tree / "other/link.parquet").symlink_to(tree / "in/a.parquet")
    given = given.format(tree=tree) if "://" in given else f"{tree}/{given}"
    with pytest.raises(OutputError, match="is inside"):
        check_apart([f"{tree}/odd", given], tree / out)


@pytest.mark.parametrize(
    ("given", "out"),
    [
        ("in", "out"),
        ("in", "in2"),
        ("in", "other/scored"),
        ("in/a.parquet", "in/scored"),
        ("in/*.parquet", "in/scored"),
        ("in/2026/*/c.parquet", "in/scored/deep"),
        ("in/2026/01/*", "in/2026/02"),
    ],
)
def test_an_output_apart_from_the_inputs(tree: Path, given: str, out: str) -> None:
    check_apart([f"{tree}/{given}"], tree / out)


def test_a_store_behind_uris(memory: Any) -> None:
    for name in TREE:
        put(StoreUri("s3", "bucket", ""), name, b"")

    def uris(given: str) -> dict[str, str]:
        return {file.relative: file.uri for file in resolve_inputs([given])}

    assert uris("s3://bucket/other") == {
        "a.parquet": "s3://bucket/other/a.parquet",
        "year=1/x.parquet": "s3://bucket/other/year%3D1/x.parquet",
    }
    assert uris("s3://bucket/odd/with%20blank") == {"ü.parquet": "s3://bucket/odd/with%20blank/%C3%BC.parquet"}
    assert uris("s3://bucket/in/2026/*/d.parq") == {"02/d.parq": "s3://bucket/in/2026/02/d.parq"}
    assert uris("s3://bucket/in/a.parquet") == {"a.parquet": "s3://bucket/in/a.parquet"}
    with pytest.raises(InputError, match="does not exist"):
        uris("s3://bucket/none")
    with pytest.raises(UsageError, match=r"hdfs://\*\*\*@host/x: inputs are paths, file:// or one of s3://"):
        uris("hdfs://key:secret@host/x")
    check_apart(["s3://bucket/in"], Path("in"))
