"""A receipt is believed only when everything agrees."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from scorer.errors import OutputError, SchemaError
from scorer.storage import FailedShard, Identity, InputRecord, Receipt, Receipts
from scorer.storage.location import Location
from scorer.storage.output import open_store
from scorer.system.codec import seal
from tests.storage.backends import files, put, remove
from tests.storage.receipts import fingerprint
from tests.storage.receipts import receipt as receipt_of
from tests.storage.tables import write_shard

IDENTITY = Identity(10, 1_784_000_000_123_456_789, "ab")
NAME = "2026/a.parquet"
WANTED = replace(fingerprint("model:x|prec:int8"), columns={"keep": ["a,b", "c"]})
RECEIPT = f"_receipts/{NAME}.json"


def of(out: Location) -> Receipts:
    """As another process sees them."""
    return Receipts(open_store(out))


@pytest.fixture
def receipt(target: Location, tmp_path: Path) -> Receipt:
    """The receipt of a shard that is done."""
    written = write_shard(tmp_path / "written.parquet", pa.table({"x": range(100)}))
    put(target, NAME, (tmp_path / "written.parquet").read_bytes())
    found = receipt_of(NAME, WANTED, written, InputRecord("/in/a.parquet", IDENTITY))
    of(target).write(found)
    return found


def agrees(out: Location, identity: Identity = IDENTITY) -> Receipt | None:
    found = of(out).check(NAME, identity, WANTED)
    return found if isinstance(found, Receipt) else None


def test_every_flipped_bit_of_a_receipt_is_noticed(target: Location, receipt: Receipt) -> None:
    content = files(target)[RECEIPT]
    for position in range(0, len(content), 7):
        changed = bytearray(content)
        changed[position] ^= 1 << (position % 8)
        put(target, RECEIPT, bytes(changed))
        read = of(target).read(NAME)
        assert read is None or read == receipt, position  # white space may change
    for length in range(0, len(content) - 2, 11):
        put(target, RECEIPT, content[:length])
        assert of(target).read(NAME) is None, length


def test_every_damage_to_the_output_is_noticed(target: Location, receipt: Receipt) -> None:
    content = files(target)[NAME]
    for position in range(0, len(content), 17):
        changed = bytearray(content)
        changed[position] ^= 4
        put(target, NAME, bytes(changed))
        assert agrees(target) is None, position
    for changed in (content[:-1], content + b"\0", b""):
        put(target, NAME, bytes(changed))
        assert agrees(target) is None
    put(target, NAME, content)
    assert agrees(target) == receipt
    remove(target, NAME)
    assert agrees(target) is None
    if isinstance(target, Path):
        (target / NAME).parent.mkdir(exist_ok=True)
        (target / "moved").write_bytes(content)
        (target / NAME).symlink_to(target / "moved")
        assert agrees(target) is None, "a link"


def test_a_receipt_of_another_name_output_or_digest_is_not_believed(target: Location, receipt: Receipt) -> None:
    whole = files(target)[RECEIPT]
    content = msgspec.to_builtins(receipt)
    for change in ({"rows": 99}, {"bytes": 1}, {"sha256": "00"}, {"rows": None}):
        put(target, RECEIPT, seal({**content, "output": content["output"] | change}))
        assert agrees(target) is None
    put(target, "_receipts/b.parquet.json", whole)
    assert of(target).look("b.parquet") == "its receipt is that of another output"
    put(target, RECEIPT, whole.replace(b'"rows": 100', b'"rows": 101'))
    said = of(target).check(NAME, IDENTITY, WANTED)
    assert said == "its receipt is damaged: its digest is not that of its content"
    put(target, RECEIPT, seal({**content, "schema": 99}))
    with pytest.raises(SchemaError, match="has schema 99"):
        of(target).read(NAME)


def test_shards_set_aside(target: Location) -> None:
    receipts = of(target)
    receipts.write_failed("b/x.parquet", "crashed", "it crashed", IDENTITY)
    receipts.write_failed("a.parquet", "columns", "no text", None)
    failed = receipts.failed()
    assert list(failed) == ["a.parquet", "b/x.parquet"]
    found = failed["b/x.parquet"]
    assert (found.kind, found.message, found.identity) == ("crashed", "it crashed", IDENTITY)
    receipts.clear_failed("a.parquet")
    receipts.clear_failed("a.parquet")
    put(target, "_failed/b/x.parquet.json", b"{")
    receipts.forget()
    assert receipts.failed() == {"b/x.parquet": FailedShard(relative="b/x.parquet")}


def test_names_outside_the_folder_are_refused(target: Location) -> None:
    for name in ("../a", "/a", "a/../b", "a//b", "_plan", "a/_b", ".a", "", "a/", "a\0"):
        with pytest.raises(OutputError, match="is not a valid output path"):
            of(target).read(name)
