from __future__ import annotations

import io

from msgspec import to_builtins
from rich.console import Console

from scorer.commands.show.plan import print_plan
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


def test_the_console_shows_the_same_figures_and_no_control_characters() -> None:
    stream = io.StringIO()
    print_plan(ESTIMATE, Console(file=stream, width=200, highlight=False, markup=False))
    shown = stream.getvalue()
    for line in (
        "estimated from 100 of 200 rows",
        "shards: 3, 1 of them done, 1 unusable",
        "x<U+001B>.parquet: not Parquet",
        "scored again (1 shard): the input changed: b.parquet",
        "refused without: old.parquet (input not among IN)",
        "c.parquet (20 rows, now 10)",
        "refused without: d.parquet (input divided in another way)",
        "d.parquet: 4 pieces",
        "pieces of about five minutes each: --split-rows 600",
        "about 40 of these would be reused",
        "errors: null_text about 6",
        "about 800, about 500 unique pairs",
        "25.0% of them by backoff",
        "up to   32:          100  " + "█" * 40,
        "2 MB needed, 5 MB free",
        "about 90 s for the model (int8 on cpu)",
    ):
        assert line in shown
    assert "\x1b" not in shown
