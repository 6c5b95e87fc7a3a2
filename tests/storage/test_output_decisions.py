"""What a run does with an output: what is there, and what is planned, to what is scored and why, or a refusal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.errors import DeviceError, OutputError
from scorer.storage.location import Location
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Identity
from tests.storage.backends import data_files, files, put, remove
from tests.storage.records import IDENTITY, SIGNATURE, Shard, content_of, make_plan, make_shard, run

A, B, C = make_shard("a.parquet"), make_shard("2026/b.parquet", rows=5), make_shard("2026/01/c.parquet")
ALL = [A, B, C]
NAMES = {"a": A.relative, "b": B.relative, "c": C.relative}
OTHER = Identity(10, 0, "cd")
RECEIPTS = {name: f"_receipts/{relative}.json" for name, relative in NAMES.items()}


def divided(*ends: int) -> list[Shard]:
    """Input a in ranges of its three row groups of one row, each up to one of ``ends``; and b."""
    ranges = enumerate(zip((0, *ends), ends, strict=False))
    parts = [(f"a.parquet/part-{i:05d}.parquet", groups) for i, groups in ranges]
    return [*(replace(A, relative=name, groups=of, rows=of[1] - of[0]) for name, of in parts), B]


class Planned(NamedTuple):
    """``changes``: of the plan of the shards."""

    shards: list[Shard]
    changes: Mapping[str, Any] = {}

    def run(self, location: Location, **options: Any) -> dict[str, str]:
        """Why each shard was scored, by its name above, or its path."""
        names = {relative: name for name, relative in NAMES.items()}
        scored = run(location, self.shards, make_plan(self.shards, **self.changes), **options)
        return {names.get(relative, relative): reason for relative, reason in scored.items()}


FP32 = SIGNATURE.replace("int8", "fp32")
DIGEST = {"model": "x", "prec": "int8", "templates": "f" * 64}
PLANS: dict[str, Planned] = {
    "b": Planned([B]),
    "the same": Planned(ALL),
    "a": Planned([A]),
    "a and b": Planned([A, B]),
    "b is another": Planned([A, replace(B, identity=OTHER), C]),
    "b is longer": Planned([A, replace(B, identity=Identity(11, IDENTITY.mtime_ns, "ab"), rows=6), C]),
    "b is shorter": Planned([A, replace(B, identity=OTHER, rows=4), C]),
    "b was touched": Planned([A, replace(B, identity=Identity(10, 0, "ab")), C]),
    "c is another": Planned([A, B, replace(C, identity=OTHER)]),
    "other columns": Planned([A, replace(B, columns={"keep": ["a,b"]}), C]),
    "a limit": Planned([replace(A, rows=1, limit=1)], {"limit": 1}),
    "a limit of all rows": Planned([replace(A, limit=3)], {"limit": 3}),
    "reuse": Planned(ALL, {"reuse_digest": "ab"}),
    "fp32": Planned(ALL, {"signature": FP32, "signature_parts": {"model": "x", "prec": "fp32"}}),
    "templates": Planned(ALL, {"signature_parts": DIGEST}),
    "another device": Planned(ALL, {"device": "cpu y"}),
    "another runtime": Planned(ALL, {"runtime": "2.0"}),
    "another numpy": Planned(ALL, {"versions": {"numpy": "3", "pyarrow": "20"}}),
    "another pyarrow": Planned(ALL, {"versions": {"numpy": "2", "pyarrow": "21"}}),
    "three ranges": Planned(divided(1, 2, 3)),
    "two ranges": Planned(divided(2, 3)),
    "one range": Planned(divided(3)),
}


def after(plan: str, *steps: Callable[[Location], object], **options: Any) -> Callable[[Location], None]:
    """A run, and what happens to its output."""

    def there(location: Location) -> None:
        PLANS[plan].run(location, **options)
        for step in steps:
            step(location)

    return there


def changed(name: str, change: Callable[[bytes], bytes] | bytes | None) -> Callable[[Location], None]:
    """Another program writes or removes a file."""

    def step(location: Location) -> None:
        if change is None:
            remove(location, name)
        else:
            put(location, name, change if isinstance(change, bytes) else change(files(location)[name]))

    return step


def without(*names: str) -> tuple[Callable[[Location], None], ...]:
    return tuple(changed(RECEIPTS[name], None) for name in names)


def parquet(rows: int) -> bytes:
    with io.BytesIO() as buffer:
        pq.write_table(pa.table({"row": range(rows)}), buffer)
        return buffer.getvalue()


THERE: dict[str, Callable[[Location], None]] = {
    "nothing": lambda location: None,
    "all": after("the same"),
    "a": after("a"),
    "a limit": after("a limit"),
    "b is cut": after("the same", changed(B.relative, lambda content: content[:-1])),
    "b has other bytes": after("the same", changed(B.relative, lambda content: content[::-1])),
    "b is gone": after("the same", changed(B.relative, None)),
    "all outputs are damaged": after("the same", *(changed(name, b"damaged") for name in NAMES.values())),
    "b's receipt is cut": after("the same", changed(RECEIPTS["b"], lambda content: content[:-9])),
    "b's receipt is edited": after(
        "the same", changed(RECEIPTS["b"], lambda content: content.replace(b'"rows": 5', b'"rows": 6'))
    ),
    "b's receipt is a's": after("the same", lambda out: put(out, RECEIPTS["b"], files(out)[RECEIPTS["a"]])),
    "no receipt of b": after("the same", *without("b")),
    "no receipt of b, Parquet": after("the same", *without("b"), changed(B.relative, parquet(5))),
    "no receipts": after("the same", *without("a", "b", "c")),
    "no _SUCCESS": after("the same", changed("_SUCCESS", None)),
    "another _SUCCESS": after("the same", changed("_SUCCESS", b"x")),
    "no plan": after("the same", changed("_plan.json", None)),
    "a blank plan": after("the same", changed("_plan.json", b"")),
    "a plan without fields": after("the same", changed("_plan.json", b'{"schema": 2}')),
    "half a plan": after("the same", changed("_plan.json", lambda content: content[: len(content) // 2])),
    "a plan that is nested deeply": after("the same", changed("_plan.json", b"[" * 100_000)),
    "c failed": after("c is another", bad=[C.relative]),
    "c failed later": after("the same", partial(PLANS["c is another"].run, bad=[C.relative])),
    "c failed, its record is damaged": after(
        "the same", partial(PLANS["c is another"].run, bad=[C.relative]), changed(f"_failed/{C.relative}.json", b"{")
    ),
    "b, and a file a.parquet": after("b", changed("a.parquet", b"x")),
    "b, and a file in a.parquet": after("b", changed("a.parquet/x", b"x")),
    "three ranges": after("three ranges"),
    "one range": after("one range"),
    "a and b": after("a and b"),
    "three ranges, two gone": after(
        "three ranges", changed("a.parquet/part-00001.parquet", None),
        changed("_receipts/a.parquet/part-00002.parquet.json", None)),
}  # fmt: skip


class Refused(NamedTuple):
    why: str
    error: type[Exception] = OutputError


NONE, DAMAGED, ELSEWHERE = "it has no receipt", "its output is damaged", r"it was scored elsewhere \(cpu x\)"
STALE = r"whose input is not among IN \({}\); nothing was written: --allow-stale keeps outputs"
DIVIDED = r"written with another --split-rows \({}.*use the earlier --split-rows, or --rescore to replace them"
FEWER = r"with more rows than would replace them \(2026/b\.parquet: 5 rows, now 4\); nothing was written: --rescore"
LABELS = r"has labels of another signature \(prec: int8 → fp32\); nothing was written: pass --rescore"
TEMPLATES = r"has labels of another signature \(templates: none → ffffffffffff\)"
DEVICE = r"scored on a different device or runtime \({}\)\. Resume there, pass --rescore"
OTHERS = "has {}, which no run recorded, where outputs would be written; nothing was written: remove it"
CHANGED, SIZE = "its input changed: footer_sha256, mtime_ns", "its input changed: size"
PREC = "signature differs: prec: int8 → fp32"
RANGES = [f"a.parquet/part-0000{i}.parquet" for i in range(3)]
EVERY = dict.fromkeys
Decision = dict[str, str] | Refused

TABLE: list[tuple[str, str, str, Decision]] = [
    # what is there, the plan, options: what is scored again and why, or the refusal
    ("nothing", "the same", "", EVERY("abc", NONE)),
    ("nothing", "three ranges", "", EVERY([*RANGES, "b"], NONE)),
    ("nothing", "a limit", "", {"a": NONE}),
    ("all", "the same", "", {}),
    ("all", "the same", "rescore", {}),
    ("a", "the same", "", EVERY("bc", NONE)),
    # damage
    ("b is cut", "the same", "", {"b": DAMAGED}),
    ("b has other bytes", "the same", "", {"b": DAMAGED}),
    ("b is gone", "the same", "", {"b": DAMAGED}),
    ("all outputs are damaged", "the same", "", EVERY("abc", DAMAGED)),
    ("b's receipt is cut", "the same", "", {"b": "its receipt is damaged: Input data was truncated"}),
    ("b's receipt is edited", "the same", "", {"b": "its receipt is damaged: its digest is not that of"}),
    ("b's receipt is a's", "the same", "", {"b": "its receipt is that of another output"}),
    ("no receipt of b", "the same", "", {"b": NONE}),
    ("no receipts", "the same", "", EVERY("abc", NONE)),
    ("no _SUCCESS", "the same", "", {}),
    ("another _SUCCESS", "the same", "", {}),
    ("no plan", "the same", "", {}),
    ("a blank plan", "the same", "", {}),
    ("half a plan", "the same", "", {}),
    ("a plan without fields", "the same", "", {}),
    ("a plan that is nested deeply", "the same", "", {}),
    ("c failed", "the same", "", {"c": NONE}),
    ("c failed later", "the same", "", {"c": NONE}),
    ("c failed later", "c is another", "", {"c": NONE}),
    ("c failed, its record is damaged", "the same", "", {"c": NONE}),
    # inputs that change
    ("all", "b is another", "", {"b": CHANGED}),
    ("all", "b is longer", "", {"b": SIZE}),
    ("all", "b was touched", "", {"b": "its input changed: mtime_ns"}),
    ("all", "b is shorter", "", Refused(FEWER)),
    ("all", "b is shorter", "rescore", {"b": CHANGED}),
    ("b is cut", "b is shorter", "", Refused(FEWER)),
    ("b is gone", "b is shorter", "", {"b": CHANGED}),
    ("no receipt of b", "b is shorter", "", {"b": NONE}),  # and what is there is no Parquet file, so has no rows
    ("no receipt of b, Parquet", "b is shorter", "", Refused(FEWER)),
    ("no receipt of b, Parquet", "b is longer", "", {"b": NONE}),
    # options that change columns or rows
    ("all", "other columns", "", {"b": r'keep: none → \["a,b"\]'}),
    ("all", "reuse", "", EVERY("abc", "reuse:  → ab")),
    ("a", "a limit", "", Refused(r"more rows than .*\(a\.parquet: 3 rows, now 1\).*: leave --limit out; or choose")),
    ("all", "a limit", "rescore", Refused(r"whose input is not among IN .*; nothing was written: leave --limit out")),
    ("a limit", "a", "", {"a": "rows: 1 → none"}),
    ("a", "a limit of all rows", "", {"a": "rows: none → 3"}),
    # labels of another signature
    ("all", "fp32", "", Refused(LABELS)),
    ("all", "fp32", "rescore", EVERY("abc", PREC)),
    ("b is cut", "fp32", "", Refused(LABELS)),
    ("no receipt of b", "fp32", "", Refused(LABELS)),
    ("no receipt of b", "fp32", "rescore", {"a": PREC, "b": NONE, "c": PREC}),
    ("all outputs are damaged", "fp32", "", EVERY("abc", PREC)),  # so that there are no labels to lose
    ("no receipts", "fp32", "", EVERY("abc", NONE)),
    ("no plan", "fp32", "", Refused(LABELS)),
    ("half a plan", "fp32", "", Refused(LABELS)),
    ("all", "templates", "", Refused(TEMPLATES)),
    ("all", "templates", "rescore", EVERY("abc", "signature differs: templates: none → ffffffffffff")),
    # another device, where shards of both would be mixed
    ("all", "another device", "", {}),
    ("no receipt of b", "another device", "", Refused(DEVICE.format("device: cpu x → cpu y"), DeviceError)),
    ("no receipt of b", "another device", "rescore", {"a": ELSEWHERE, "b": NONE, "c": ELSEWHERE}),
    ("no receipts", "another device", "", EVERY("abc", NONE)),
    ("no receipt of b", "another runtime", "", Refused(DEVICE.format("runtime: 1.0 → 2.0"), DeviceError)),
    ("no receipt of b", "another numpy", "", Refused(DEVICE.format("numpy: 2 → 3"), DeviceError)),
    ("no receipt of b", "another pyarrow", "", {"b": NONE}),  # it writes files, not labels
    # inputs that are gone
    ("all", "a", "", Refused(STALE.format("2026/01/c.parquet, 2026/b.parquet"))),
    ("all", "a", "rescore", Refused(STALE.format("2026/01/c.parquet, 2026/b.parquet"))),
    ("all", "a", "allow_stale", {}),
    ("no plan", "a", "", Refused(STALE.format("2026/01/c.parquet, 2026/b.parquet"))),
    ("c failed later", "a and b", "", Refused(STALE.format("2026/01/c.parquet"))),
    ("c failed later", "a and b", "allow_stale", {}),
    ("c failed", "a and b", "", {}),  # which never had an output
    # other row ranges
    ("a and b", "three ranges", "", Refused(DIVIDED.format(r"a\.parquet"))),
    ("a and b", "three ranges", "rescore", EVERY(RANGES, NONE)),
    ("three ranges", "two ranges", "", Refused(DIVIDED.format(r"a\.parquet/part-00002"))),
    ("three ranges", "two ranges", "rescore", {RANGES[0]: "it has other rows of its input", RANGES[1]: "it has other"}),
    ("three ranges", "one range", "allow_stale", Refused(DIVIDED.format(r"a\.parquet/part-00001"))),
    ("three ranges", "a and b", "", Refused(DIVIDED.format(r"a\.parquet/part-00000"))),
    ("three ranges", "a and b", "rescore", {"a": NONE}),
    ("one range", "three ranges", "", {RANGES[0]: "it has other rows", RANGES[1]: NONE, RANGES[2]: NONE}),
    ("three ranges, two gone", "three ranges", "", {RANGES[1]: DAMAGED, RANGES[2]: NONE}),
    ("three ranges", "fp32", "rescore, allow_stale", {"a": NONE, "b": PREC, "c": NONE}),
    # files of other programs
    ("b, and a file a.parquet", "three ranges", "rescore", Refused(OTHERS.format(r"a\.parquet"))),
    ("b, and a file in a.parquet", "a and b", "rescore", Refused(OTHERS.format(r"a\.parquet/x"))),
    ("b, and a file in a.parquet", "b", "", {}),
]


@pytest.mark.parametrize(
    ("there", "plan", "options", "decision"), TABLE, ids=[f"{one[0]}, then {one[1]} {one[2]}".strip() for one in TABLE]
)
def test_decisions(target: Location, there: str, plan: str, options: str, decision: Decision) -> None:
    THERE[there](target)
    before, planned = files(target), PLANS[plan]
    given = {name: True for name in options.split(", ") if name}
    if isinstance(decision, Refused):
        with pytest.raises(decision.error, match=decision.why):
            planned.run(target, **given)
        assert files(target) == before
        return
    scored = planned.run(target, **given)
    assert scored.keys() == decision.keys()
    for name, reason in decision.items():
        assert re.match(reason, scored[name])
    wanted = {shard.relative: content_of(shard) for shard in planned.shards}
    stale = {name: content for name, content in data_files(target).items() if name not in wanted}
    assert data_files(target) == wanted | stale and (not stale or "allow_stale" in given or "file" in there)
    assert stale.items() <= before.items()
    assert OutputFolder(target).why_unfinished() is None
    assert not [name for name in files(target) if name.startswith("_failed") and not stale]
    assert planned.run(target, **given) == {}, "the same run again has nothing to do"
