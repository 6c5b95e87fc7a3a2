"""Folders of Delta tables are never read as folders of Parquet files, with or without the package."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scorer.errors import InputError, UsageError
from scorer.storage import check_apart, resolve_inputs, table_notes


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "above" / "table"
    for name in ("_delta_log", "c=DE"):
        (folder / name).mkdir(parents=True)
    for name in ("old.parquet", "new.parquet", "c=DE/more.parquet"):
        (folder / name).touch()
    return folder


def package(monkeypatch: pytest.MonkeyPatch, *files: str, **more: Any) -> list[tuple[str, int | None]]:
    """A stand-in for the package: a table at version 7 with these files. Returns what is opened."""
    opened = []

    def open_table(path: str, version: int | None = None) -> Any:
        opened.append((path, version))
        if version == 99:
            raise LookupError("no such\nversion")
        protocol = {"min_reader_version": 1, "reader_features": None} | more.get("protocol", {})
        return SimpleNamespace(
            version=lambda: 7 if version is None else version,
            file_uris=lambda: [file if file.startswith("/") else f"{path}/{file}" for file in files],
            protocol=lambda: SimpleNamespace(**protocol),
            metadata=lambda: SimpleNamespace(configuration=more.get("settings", {})),
        )

    monkeypatch.setitem(sys.modules, "deltalake", SimpleNamespace(DeltaTable=open_table))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "deltalake.exceptions", SimpleNamespace(DeltaError=LookupError))  # type: ignore[arg-type]
    return opened


def test_without_the_package_or_named_otherwise_a_table_is_refused(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(UsageError, match=r"pip install 'd2t-scorer\[delta\]'"):
        resolve_inputs([str(table)])
    for given in (table.parent, f"{table}/*.parquet", f"{table.parent}/**/*.parquet"):
        with pytest.raises(InputError, match=f"{table} is a Delta table.* name this folder as IN"):
            resolve_inputs([str(given)])


def test_the_files_of_a_version_alone_are_taken(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = package(monkeypatch, "new.parquet", "c=DE/more.parquet")
    found = resolve_inputs([str(table)])
    assert [file.relative for file in found] == ["c=DE/more.parquet", "new.parquet"]
    assert [file.uri for file in found] == [f"{table}/c=DE/more.parquet", f"{table}/new.parquet"]
    (note,) = table_notes(found)
    assert f"{table}@v7: 2 files" in note
    assert resolve_inputs([f"{table}@v7"]) == found
    assert opened == [(str(table), None), (str(table), 7)]
    with pytest.raises(UsageError, match="leave out --format jsonl"):
        resolve_inputs([str(table)], "jsonl")
    with pytest.raises(InputError, match="cannot be read at version 99: no such version"):
        resolve_inputs([f"{table}@v99"])
    for given in (str(table), f"{table}@v7"):
        with pytest.raises(Exception, match="is inside the input"):
            check_apart([given], table / "out")


MAPPING = {"min_reader_version": 2}


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        (("a.parquet",), {"protocol": {"reader_features": ["timestampNtz", "deletionVectors"]}}, "deletionVectors"),
        (("a.parquet",), {"protocol": MAPPING, "settings": {"delta.columnMapping.mode": "name"}}, "columnMapping"),
        (("/elsewhere/a.parquet",), {}, "outside of its folder: /elsewhere/a.parquet"),
        (("_change_data/a.parquet",), {}, "hidden: _change_data/a.parquet"),
        ((), {}, "version 7 of the Delta table has no file"),
    ],
)
def test_tables_whose_files_alone_do_not_say_their_rows_are_refused(
    table: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], more: dict[str, Any], message: str
) -> None:
    package(monkeypatch, *files, **more)
    with pytest.raises(InputError, match=message):
        resolve_inputs([str(table)])
