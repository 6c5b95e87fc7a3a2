"""Outputs in a store that are read: rows of an earlier run, and drawn samples. The store is in the memory of this
process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.errors import OutputError, UsageError
from scorer.scoring.reuse.earlier import DAMAGED_FILE, check_earlier, open_earlier
from scorer.scoring.reuse.earlier_rows import EarlierRows
from scorer.storage import Receipts
from scorer.storage.durable import atomic_json, json_bytes
from scorer.storage.objects import store as stores
from scorer.storage.objects.uri import StoreUri
from tests.evaluation.rates.outputs import output
from tests.scoring.reuse.test_earlier import COLUMNS, WANTED, put, table

obstore = pytest.importorskip("obstore", reason="the extra `objects` is not installed")
EARLIER, OUT = StoreUri("s3", "bucket", "runs/earlier"), StoreUri("s3", "bucket", "runs/out")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store that stands behind every URI."""
    from obstore.store import MemoryStore

    bucket = MemoryStore()
    monkeypatch.setattr(stores, "connect", lambda uri, *, patient=True: bucket)
    return bucket


def upload(bucket: Any, folder: Path, to: StoreUri, *, versions: bool = True) -> None:
    """Copy an output. ``versions``: its receipts name the versions of the outputs, as those of a run into a store."""
    receipts = Receipts(folder)
    for path in sorted(folder.rglob("*.parquet")):
        name = path.relative_to(folder).as_posix()
        written = obstore.put(bucket, to.key(name), path.read_bytes())
        receipt = receipts.read(name)
        assert receipt is not None
        if versions:
            receipt = replace(receipt, output=replace(receipt.output, e_tag=written["e_tag"]))
        obstore.put(bucket, to.key(f"_receipts/{name}.json"), json_bytes(receipt.to_json()))
    for name in ("_plan.json", "_run.json", "_SUCCESS"):
        if (folder / name).exists():
            obstore.put(bucket, to.key(name), (folder / name).read_bytes())


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    folder = tmp_path / "earlier"
    folder.mkdir()
    atomic_json(folder / "_plan.json", {"schema": 1, "signature": "sig"})
    put(folder, "a.parquet", table(25, 1))
    put(folder, "b/c.parquet", table(40, 3), group=15)
    return folder


@pytest.mark.parametrize("versions", [True, False])
def test_rows_of_an_earlier_output_are_those_of_its_files(earlier: Path, memory: Any, versions: bool) -> None:
    """By the versions that receipts name, or, of an output that was uploaded by hand, by the SHA-256."""
    upload(memory, earlier, EARLIER, versions=versions)
    found, local = open_earlier(EARLIER, WANTED), open_earlier(earlier, WANTED)
    assert not found.refused
    assert (found.name, found.digest, found.signature) == (str(EARLIER), local.digest, local.signature)
    assert [shard.relative for shard in found.shards] == ["a.parquet", "b/c.parquet"] and not found.refused
    whole = pa.concat_tables([pq.read_table(earlier / shard.relative).select(COLUMNS) for shard in local.shards])
    rows = EarlierRows(found.shards, COLUMNS, key="row_key", labelled="fine")
    wanted = np.random.default_rng(4).permutation(65)
    taken = rows.take(wanted)
    for name in COLUMNS:
        assert taken[name].to_pylist() == whole[name].take(pa.array(wanted)).to_pylist()
    rows.close()


@pytest.mark.parametrize("versions", [True, False])
def test_an_output_that_was_replaced_is_not_believed(earlier: Path, memory: Any, versions: bool) -> None:
    upload(memory, earlier, EARLIER, versions=versions)
    shards = open_earlier(EARLIER, WANTED).shards
    content = (earlier / "a.parquet").read_bytes()
    obstore.put(memory, EARLIER.key("a.parquet"), content[:-1] + b"?")
    again = open_earlier(EARLIER, WANTED)
    assert [shard.relative for shard in again.shards] == ["b/c.parquet"] and again.refused == {DAMAGED_FILE: 1}
    rows = EarlierRows(shards, COLUMNS, key="row_key", labelled="fine")
    with pytest.raises(OutputError, match=r"s3://bucket/runs/earlier/a\.parquet.*was replaced while it was read"):
        rows.take(np.array([0]))
    rows.close()


def test_earlier_outputs_are_checked_before_anything_else(earlier: Path, memory: Any) -> None:
    upload(memory, earlier, EARLIER)
    assert check_earlier([EARLIER, earlier, EARLIER], OUT) == [EARLIER, earlier]
    with pytest.raises(UsageError, match="the output folder itself"):
        check_earlier([EARLIER], EARLIER)
    with pytest.raises(OutputError, match=r"s3://bucket/runs/out is no output.*no readable _plan\.json"):
        check_earlier([OUT], None)


def ask(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def test_a_sample_and_rates_are_those_of_a_folder(tmp_path: Path, memory: Any) -> None:
    local = output(tmp_path / "out", rows=200)
    upload(memory, local, OUT, versions=False)
    made = ask("sample", OUT, "--rows", 40, "--file", tmp_path / "store.csv", "--page", tmp_path / "store.html")
    assert f"scorer rate {OUT} --labels" in made.stderr
    ask("sample", local, "--rows", 40, "--file", tmp_path / "local.csv", "--page", tmp_path / "local.html")
    assert (tmp_path / "store.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()
    page = (tmp_path / "store.html").read_bytes()
    assert page.replace(b"store.csv", b"local.csv") == (tmp_path / "local.html").read_bytes()
    given = "--label-column", "truth", "--by", "system", "--json", "--save"
    found = json.loads(ask("rate", OUT, *given, tmp_path / "0.json").stdout)
    expected = json.loads(ask("rate", local, *given, tmp_path / "1.json").stdout)
    assert found == expected | {"path": str(OUT)}
    kept = json.loads((tmp_path / "0.json").read_bytes())
    assert kept == json.loads((tmp_path / "1.json").read_bytes()) | {"out": str(OUT)}
