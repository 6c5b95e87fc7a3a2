from __future__ import annotations

from msgspec import to_builtins

from scorer.run.estimate_result import (
    DiskSpace,
    Estimate,
    LengthBin,
    PlannedChecks,
    PlannedDevice,
    PlannedRows,
    PlannedShards,
)
from scorer.scoring.summary import ReusedOutput
from scorer.storage.counts import FactCounts, PredicateCounts

ESTIMATE = Estimate(
    signature="model:m@0",
    shards=PlannedShards(
        usable=3,
        skipped=1,
        again={"the input changed": ["b.parquet"]},
        outside=["old.parquet"],
        shorter={"c.parquet": (20, 10)},
        divided=["d.parquet"],
        failed={"x\x1b.parquet": "not Parquet"},
        pieces={"d.parquet": 4},
    ),
    rows=PlannedRows(all=300, to_score=200, sampled=100, reused=40),
    estimated=True,
    reuse=(ReusedOutput(out="earlier", signature_equal=True, differs=(), keys=7, shards_used=2, shards_refused={}),),
    errors={"null_text": 6},
    notes={},
    checks=PlannedChecks(800, 500),
    facts=FactCounts(300, 100, {"food": PredicateCounts(300, 100)}),
    token_lengths=(LengthBin(16, 50), LengthBin(32, 100)),
    too_long=2,
    disk=DiskSpace(2_000_000, 5_000_000),
    seconds=90.0,
    device=PlannedDevice("cpu", "a CPU"),
    precision="int8",
    rows_in_five_minutes=600,
)


def test_the_json_has_the_documented_keys() -> None:
    found = to_builtins(ESTIMATE)
    assert found["estimated"] is True
    assert found["rows"] == {"all": 300, "to_score": 200, "sampled": 100, "reused": 40}
    assert found["shards"] == {
        "usable": 3,
        "skipped": 1,
        "again": {"the input changed": ["b.parquet"]},
        "outside": ["old.parquet"],
        "shorter": {"c.parquet": (20, 10)},
        "failed": {"x\x1b.parquet": "not Parquet"},
        "divided": ["d.parquet"],
        "pieces": {"d.parquet": 4},
        "note": None,
    }
    assert found["rows_in_five_minutes"] == 600
    assert found["checks"] == {"all": 800, "unique": 500}
    assert found["token_lengths"] == ({"up_to": 16, "pairs": 50}, {"up_to": 32, "pairs": 100})
    assert found["facts"] == {
        "template": 300,
        "backoff": 100,
        "by_predicate": {"food": {"template": 300, "backoff": 100}},
        "skipped": 0,
    }
