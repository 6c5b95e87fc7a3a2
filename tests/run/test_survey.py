"""What a run finds of its inputs before it reads or writes anything, and takes over from a plan that is there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, OutputError, ShardError
from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames
from scorer.run.plan_file import OtherBudgetsError, common_plan
from scorer.run.survey import part_of, survey
from scorer.scoring.plan import Budgets
from scorer.storage import ShardReader, resolve_inputs
from tests.plans import made_plan


def test_usable_shards_come_in_order_up_to_a_limit(tmp_path: Path) -> None:
    whole = {"a": 3, "b": 0, "d": 5}
    for name, rows in whole.items():
        pq.write_table(pa.table({"text": ["t"] * rows, "mr": ["name[A]"] * rows}), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"text": ["t"]}), tmp_path / "c.parquet")
    (tmp_path / "e.parquet").write_bytes(b"PAR1")
    files, columns = resolve_inputs([str(tmp_path)]), ColumnNames()
    with ShardReader() as reader:
        for limit, taken in ((1, {"a": 1}), (3, {"a": 3}), (4, {"a": 3, "b": 0, "d": 1}), (99, whole), (None, whole)):
            found = survey(files, reader, lambda schema: find_columns(schema, columns), limit)
            assert {shard.file.relative[0]: shard.rows for shard in found.usable} == taken
            cut = [shard.limit for shard in found.usable if shard.limit is not None]
            assert cut == [taken[name] for name in taken if taken[name] < whole[name]]
    failed = {name: type(one.error) for name, one in found.failed.items()}
    assert failed == {"c.parquet": ColumnError, "e.parquet": ShardError}


def test_parts_share_the_paths_about_equally() -> None:
    parts = [part_of(f"2026/{i}.parquet", 3) for i in range(300)]
    assert min(parts.count(part) for part in (1, 2, 3)) > 60


def test_plans_may_differ_in_where_a_bundle_lies_and_what_else_differs_is_named() -> None:
    plan, there = made_plan(), made_plan(settings={"bundle": "/there"})
    assert common_plan(there, plan, [], Path("out")) == there
    with pytest.raises(OtherBudgetsError) as caught:
        common_plan(made_plan(budgets=Budgets(batch_tokens=1024)), plan, [], Path("out"))
    assert caught.value.budgets == Budgets(batch_tokens=1024)
    every = "budgets, device, inputs, limit, parts, provider, reuse, runtime, signature, split_rows, versions"
    for other, named in ((made_plan(limit=3, inputs=["a"]), "inputs, limit"), (None, every)):
        with pytest.raises(OutputError, match=rf"under another plan \(it differs in {named}\)"):
            common_plan(other, plan, [], Path("out"))
