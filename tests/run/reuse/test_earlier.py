"""Earlier outputs: which shards are used, rows of them by number against whole files, and the index of row keys."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.run.reuse import (
    DAMAGED_FILE,
    DAMAGED_RECEIPT,
    OTHER_SIGNATURE,
    EarlierRows,
    KeyIndex,
    find_earlier,
    key_words,
    open_earlier,
)
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Signature
from scorer.storage.run_plan import Part
from scorer.storage.user_files import write_parquet
from scorer.system.codec import encode, seal
from tests.conftest import ROOT
from tests.scored_outputs import SIGNATURE as OF_RUNS
from tests.storage.records import make_plan, make_receipt, make_shard

LABEL = pa.dictionary(pa.int8(), pa.string())
LABELS = pa.schema([("fine", LABEL), ("omitted", pa.list_(pa.int32())), ("row_key", pa.binary(16))])
SIGNATURE = Signature.of_line(OF_RUNS)


def table(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    labels = [None if i % 7 == 3 else ("OK", "omission")[int(rng.integers(2))] for i in range(n)]
    return pa.table(
        {
            "text": pa.array([f"text {i}" for i in range(n)]),
            "fine": pa.array(labels, pa.string()).dictionary_encode().cast(LABEL),
            "omitted": pa.array([list(range(i % 4)) for i in range(n)], pa.list_(pa.int32())),
            "row_key": pa.array([rng.bytes(16) for _ in range(n)], pa.binary(16)),
        }
    )


def put(
    out: Path, relative: str, rows: pa.Table, group: int = 10, *, promise: str = OF_RUNS, footer: str = OF_RUNS
) -> None:
    """An output with its receipt, written as a run does, a row group a window."""
    groups = [rows.slice(start, group) for start in range(0, max(len(rows), 1), group)]
    written = write_parquet(out / relative, groups, Signature.of_line(footer).footer)
    shard = make_shard(relative, len(rows))
    receipt = make_receipt(shard, make_plan([shard], promise), output=written)
    path = out / "_receipts" / f"{relative}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(seal(receipt))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "_plan.json").write_bytes(encode(make_plan([], OF_RUNS)))
    put(folder, "a.parquet", table(25, 1))
    put(folder, "b/none.parquet", table(0, 2))
    put(folder, "c.parquet", table(40, 3), group=15)
    return folder


Reading = Callable[..., tuple[EarlierRows, pa.Table]]


@pytest.fixture
def reading(out: Path) -> Reading:
    """Opens the rows of the output, and reads its files whole."""

    def read(**more: int) -> tuple[EarlierRows, pa.Table]:
        shards = open_earlier(out, SIGNATURE, LABELS).shards
        whole = pa.concat_tables([pq.read_table(out / shard.relative).select(LABELS.names) for shard in shards])
        return EarlierRows(shards, LABELS.names, **more), whole.set_column(0, "fine", whole["fine"].cast(pa.string()))

    return read


def test_rows_in_any_order_are_those_of_the_files(reading: Reading) -> None:
    rows, whole = reading()
    rng = np.random.default_rng(4)
    for numbers in (np.arange(65), np.array([64]), rng.permutation(65), rng.integers(0, 65, 200)):
        assert rows.take(numbers).equals(whole.take(pa.array(numbers)))
    assert rows.group.cache_info().misses == 3 + 3  # each row group once
    rows, _ = reading(cached=1)
    for number in (0, 1, 2, 30, 0):
        assert rows.take(np.array([number])).equals(whole.slice(number, 1))
    assert rows.group.cache_info().misses == 3  # of 0 to 2, of 30, and of 0 again


def test_a_file_that_changed_is_not_read(out: Path, reading: Reading) -> None:
    rows, _ = reading()
    rows.take(np.array([0]))
    put(out, "c.parquet", table(40, 3), group=15)  # the same bytes, another file
    with pytest.raises(OutputError, match=r"c\.parquet was replaced while it was read"):
        rows.take(np.array([30]))
    (out / "a.parquet").unlink()
    rows, _ = reading()
    (out / "c.parquet").unlink()
    with pytest.raises(OutputError, match=r"c\.parquet: cannot be read for --reuse"):
        list(rows.all_keys())


def test_why_shards_are_not_used(out: Path) -> None:
    put(out, "signature.parquet", table(5, 4), promise=OF_RUNS + "|more:")
    put(out, "footer.parquet", table(5, 5), footer="other")
    put(out, "column.parquet", table(5, 6).drop_columns("omitted"))
    wrong_type = table(5, 7)
    put(out, "type.parquet", wrong_type.set_column(2, "omitted", wrong_type["omitted"].cast(pa.list_(pa.int64()))))
    for name in ("cut", "flipped", "gone", "linked"):
        put(out, f"{name}.parquet", table(5, 8))
    content = (out / "cut.parquet").read_bytes()
    (out / "cut.parquet").write_bytes(content[:-1])
    (out / "flipped.parquet").write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    (out / "gone.parquet").unlink()
    (out / "linked.parquet").rename(out / "_elsewhere")
    (out / "linked.parquet").symlink_to(out / "_elsewhere")
    (out / "_receipts" / "half.parquet.json").write_text('{"schema": 1')
    (out / "_receipts" / "_hidden.json").write_text("{}")  # belongs to no shard
    found = open_earlier(out, SIGNATURE, LABELS)
    assert [shard.relative for shard in found.shards] == ["a.parquet", "b/none.parquet", "c.parquet"]
    assert found.refused == {DAMAGED_FILE: 4, DAMAGED_RECEIPT: 1, "no column omitted": 2, OTHER_SIGNATURE: 2}
    assert found.signature == SIGNATURE


def test_folders_are_checked_before_anything_else(out: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(out)
    assert find_earlier([out, link, out], tmp_path / "new") == [out]
    for earlier, says in (
        (link, "the output folder itself"),
        (out / "a.parquet", r"no readable _plan\.json"),
        (tmp_path / "nowhere", r"no readable _plan\.json"),
    ):
        with pytest.raises((UsageError, OutputError), match=says):
            find_earlier([earlier], out)


def test_all_parts_of_a_run_are_reused_or_none(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        part = Part(number=number, count=3, shards="all")
        (tmp_path / f"out/part-{number}").mkdir(parents=True)
        (tmp_path / f"out/part-{number}/_plan.json").write_bytes(encode(make_plan([], OF_RUNS, part=part)))
        assert OutputFolder(tmp_path / f"out/part-{number}").read_plan() is not None
    parts = [tmp_path / f"out/part-{number}" for number in (1, 2, 3)]
    assert find_earlier([tmp_path / "out"]) == find_earlier(parts) == parts
    with pytest.raises(OutputError, match=r"1 of 3 parts are missing \(part 2\); pass --reuse with the folder above"):
        find_earlier([parts[0], parts[2]])


def keys_of(raw: bytes) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(raw) // 16, [None, pa.py_buffer(raw)])


def test_it_finds_what_a_dictionary_finds() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, 20_000, np.uint64)
    words = np.concatenate([words, words[rng.integers(0, len(words), 5_000)]])  # keys that occur twice and more
    known: dict[int, int] = {}
    for number, word in enumerate(words.tolist()):
        known.setdefault(word, number)
    parts = np.split(np.arange(len(words)), range(777, len(words), 777))
    index = KeyIndex(((words[part], part) for part in parts), len(words))
    asked = np.concatenate([rng.permutation(words), rng.integers(0, 2**64, 5_000, np.uint64)])
    assert index.find(asked).tolist() == [known.get(word, -1) for word in asked.tolist()]
    assert len(index) == len(known)
    assert index.count_between(100, 20_000) == 19_900


def test_words_are_the_bytes_of_the_keys_also_of_a_slice() -> None:
    raw = np.random.default_rng(2).bytes(16 * 9)
    sliced = keys_of(raw).slice(3, 4)
    assert key_words(sliced).tobytes() == raw[48:112]
    assert key_words(sliced).shape == (4, 2)
    assert key_words(keys_of(b"")).shape == (0, 2)


FULL = """
import json, resource
import numpy as np
from scorer.run.reuse import KeyIndex

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng, before = np.random.default_rng(3), peak()
keys = (
    (rng.integers(0, 2**64, rows, np.uint64), np.arange(start, start + rows))
    for start in range(0, 25_000_000, 16384)
    for rows in [min(16384, 25_000_000 - start)]
)
index = KeyIndex(keys, 25_000_000)
print(json.dumps({"keys": len(index), "grown": peak() - before}))
"""


@pytest.mark.slow
def test_25_million_keys_in_less_than_a_gigabyte() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], check=True, capture_output=True, text=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert found["keys"] > 24_998_000  # one in 20,000 shares its bits with another one
    assert found["grown"] < 700e6
