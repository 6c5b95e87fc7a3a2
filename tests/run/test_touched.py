"""A file with another time and the same content is not scored again; one with other content is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.storage import Receipts
from tests.run.calls import bytes_of, rows, run, scorer


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, n in (("a.parquet", 30), ("b.parquet", 5)):
        pq.write_table(rows(n), folder / name)
    return folder


def touch(path: Path) -> int:
    """Another time; the new one in ns."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 5_000_000_000))
    return path.stat().st_mtime_ns


def identities(out: Path) -> dict[str, int | None]:
    found = {name: Receipts(out).read(name) for name in Receipts(out).all()}
    return {n: one.input.identity.mtime_ns for n, one in found.items() if one is not None and one.input.identity}


def test_a_touched_file_is_not_scored_again(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    run(data, out, bundle)
    before, times = bytes_of(out), {name: (out / name).stat().st_mtime_ns for name in ("a.parquet", "b.parquet")}
    moved = touch(data / "a.parquet")
    planned = json.loads(scorer("plan", data, "--bundle", bundle, "--out", out, "--json").stdout)
    assert planned["shards"]["skipped"] == 2
    assert run(data, out, bundle)["shards"] == {"done": 2, "skipped": 2, "failed": 0}
    assert bytes_of(out) == before
    assert {name: (out / name).stat().st_mtime_ns for name in times} == times
    assert identities(out)["a.parquet"] == moved  # so the next run need not read the file
    assert (out / "_SUCCESS").exists()


def test_other_content_of_the_same_size_is_scored_again(data: Path, tmp_path: Path, bundle: Path) -> None:
    """One byte of a text differs: size and footer are the same."""
    out, path = tmp_path / "out", data / "b.parquet"
    pq.write_table(rows(5), path, compression="none", use_dictionary=False, write_statistics=False)
    run(data, out, bundle)
    content = path.read_bytes()
    at = content.index(b" is pub") + 1
    path.write_bytes(content[:at] + b"I" + content[at + 1 :])
    touch(path)
    said = scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1")
    assert "scored again (1 shard): its input changed: mtime_ns: b.parquet" in said.stderr
    assert any(" Is pub" in (text or "") for text in pq.read_table(out / "b.parquet")["text"].to_pylist())


def test_a_receipt_without_the_content_goes_by_the_time(data: Path, tmp_path: Path, bundle: Path) -> None:
    """As of a store, which would have to send the whole file."""
    out = tmp_path / "out"
    run(data, out, bundle)
    receipt = Receipts(out).read("a.parquet")
    assert receipt is not None and receipt.input.content is not None
    older = replace(receipt, input=replace(receipt.input, content=None))
    Receipts(out).write(older)
    assert run(data, out, bundle)["shards"]["skipped"] == 2
    touch(data / "a.parquet")
    assert run(data, out, bundle)["shards"]["skipped"] == 1
