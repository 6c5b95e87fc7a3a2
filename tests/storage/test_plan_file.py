"""The plan: what is stored is what is read, and how shards are divided among parts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scorer.errors import DamagedFileError, SchemaError
from scorer.storage.plan import Budgets, ExactBudget, Part, Plan, PlannedReuse, shards_digest
from scorer.storage.receipts import Identity, InputRecord
from scorer.system.codec import decode, encode
from tests.storage.records import make_plan, make_shard

SHARDS = [make_shard("a.parquet"), make_shard("b\udcff.parquet/part-00001.parquet", groups=(2, 5))]


def test_a_plan_is_read_as_it_was_stored() -> None:
    plan = make_plan(
        SHARDS,
        budgets=Budgets(window_rows=10, first_rows=(1, 2), exact=ExactBudget(pairs=5, largest=0.25)),
        part=Part(number=1, count=3, shards="ab"),
        reuse=(PlannedReuse(out="s3://x", signature="s", shards=3, digest="cd"),),
        settings={"device": "cpu", "optional": [["a", "b"]]},
    )
    read = decode(encode(plan, indent=1), Plan, "_plan.json")
    assert read == plan and read.digest == plan.digest
    assert replace(plan, limit=3).digest != plan.digest
    assert read.fingerprint(SHARDS[1]).groups == (2, 5)


def test_a_damaged_plan_and_one_of_another_version_are_told_apart() -> None:
    content = encode(make_plan(SHARDS), indent=1)
    with pytest.raises(DamagedFileError, match=r"_plan\.json is damaged"):
        decode(content[:-5], Plan, "_plan.json")
    with pytest.raises(SchemaError, match=r"_plan\.json has schema 1"):
        decode(content.replace(b'"schema": 2', b'"schema": 1'), Plan, "_plan.json")


def test_the_digest_of_all_shards_knows_paths_sizes_footers_and_ranges() -> None:
    plain = make_plan(SHARDS).inputs
    other = [
        make_plan([replace(SHARDS[0], relative="c.parquet"), SHARDS[1]]).inputs,
        make_plan([replace(SHARDS[0], identity=Identity(11, 0, "ab")), SHARDS[1]]).inputs,
        make_plan([replace(SHARDS[0], identity=Identity(10, 0, "cd")), SHARDS[1]]).inputs,
        make_plan([SHARDS[0], replace(SHARDS[1], groups=(2, 6))]).inputs,
        {**plain, "d.parquet": InputRecord("u", None)},
    ]
    assert len({shards_digest(inputs) for inputs in [plain, *other]}) == 6
    touched = make_plan([replace(SHARDS[0], identity=Identity(10, 0, "ab")), SHARDS[1]]).inputs
    assert shards_digest(dict(reversed(touched.items()))) == shards_digest(plain)
