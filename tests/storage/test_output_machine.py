"""Runs, damage, inputs that change and other plans in any order: a finished output has every row once, a refusal
changes no byte, and nothing is lost without the option that permits it."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from scorer.errors import OutputError
from scorer.storage.local_files import TEMPORARY, temporary_name
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Identity, Receipt
from scorer.storage.run_plan import Plan
from tests.storage.backends import files, put, remove
from tests.storage.records import Shard, make_plan, make_shard, run

GROUPS = ((2, 2, 1), (3,), (1, 1), (4, 1))
"""Rows of the row groups that an input may have."""
NAMES = ("a", "deep/b", "deep/er/c")
SIGNATURES = ("model:x|prec:int8", "model:x|prec:fp32")


class Input(NamedTuple):
    """``version``: another one has other content."""

    version: int
    groups: tuple[int, ...]


class Row(NamedTuple):
    """A scored row, as a line of an output: where it is from, and what its label depends on."""

    name: str
    version: int
    number: int
    signature: str
    keep: str


def rows_of(content: bytes) -> list[Row]:
    found = [line.split(";") for line in content.decode().splitlines()]
    return [Row(name, int(version), int(number), *more) for name, version, number, *more in found]


def name_of(relative: str) -> str:
    """The input of an output."""
    return relative.partition(".parquet")[0]


def content(shard: Shard, plan: Plan) -> bytes:
    """The output of a shard: a line for each of its rows."""
    version, keep = shard.identity.footer_sha256, shard.columns.get("keep", "")
    sizes = [int(size) for size in shard.file.uri.split("/")]
    first, end = shard.groups or (0, len(sizes))
    numbers = range(sum(sizes[:first]), sum(sizes[:end]))
    rows = [(name_of(shard.relative), version, number, plan.signature, keep) for number in numbers]
    return "".join(";".join(map(str, row)) + "\n" for row in rows).encode()


class OutputMachine(RuleBasedStateMachine):
    """``intact``: outputs that are as their receipts say, with their bytes; ``inputs``: as they are now."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name, "out")
        self.inputs = {name: Input(0, GROUPS[0]) for name in NAMES}
        self.intact: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def shards(self, names: set[str], is_divided: bool, keep: str) -> list[Shard]:
        """The shards of some inputs: one each, or one for each row group."""
        found = []
        for name in sorted(names):
            version, groups = self.inputs[name]
            more = {
                "uri": "/".join(map(str, groups)),  # which tells content() the rows of each group
                "identity": Identity(10, version, str(version)),
                "columns": {"keep": keep} if keep else {},
            }
            if not is_divided:
                found.append(make_shard(f"{name}.parquet", sum(groups), **more))
            for i, size in enumerate(groups if is_divided else ()):
                found.append(make_shard(f"{name}.parquet/part-{i:05d}.parquet", size, groups=(i, i + 1), **more))
        return found

    @rule(name=st.sampled_from(NAMES), groups=st.sampled_from(GROUPS))
    def change_input(self, name: str, groups: tuple[int, ...]) -> None:
        self.inputs[name] = Input(self.inputs[name].version + 1, groups)

    @rule(data=st.data(), damage=st.sampled_from(["gone", "cut", "turned", "reversed"]))
    def damage_file(self, data: st.DataObject, damage: str) -> None:
        """Of an output, a receipt, the plan or the end of a run."""
        held = self.held()
        if not held:
            return
        name = data.draw(st.sampled_from(sorted(held)))
        old = held[name]
        # No damage makes an earlier one good: the byte in front stays, and JSON does not skip it, as it does a newline.
        turned, reversed_after_zero = bytes((b + 1) % 256 for b in old), b"\0" + old[::-1]
        new = {"gone": None, "cut": old[:-1], "turned": turned, "reversed": reversed_after_zero}[damage]
        if new is None:
            remove(self.out, name)
        else:
            put(self.out, name, new)
        if new != old:
            self.intact.pop(name.removeprefix("_receipts/").removesuffix(".json"), None)

    @rule()
    def leave_a_temporary_file(self) -> None:
        if self.out.exists():
            (self.out / temporary_name()).write_bytes(b"half")

    @rule(
        names=st.sets(st.sampled_from(NAMES), min_size=1),
        signature=st.sampled_from(SIGNATURES),
        is_divided=st.booleans(),
        keep=st.sampled_from(["", "x"]),
        rescore=st.booleans(),
        allow_stale=st.booleans(),
        bad=st.sets(st.sampled_from(NAMES), max_size=1),
    )
    def run(self, names: set[str], is_divided: bool, keep: str, signature: str, bad: set[str], **options: bool) -> None:
        shards = self.shards(names, is_divided, keep)
        self.check_run(shards, make_plan(shards, signature), bad, **options)

    @rule(is_divided=st.booleans())
    def run_all(self, is_divided: bool) -> None:
        """With all that may be permitted, so that it ends finished."""
        shards = self.shards({*NAMES}, is_divided, "")
        self.check_run(shards, make_plan(shards, SIGNATURES[0]), set(), rescore=True, allow_stale=True)
        assert OutputFolder(self.out).why_unfinished() is None or self.is_foreign(self.held())

    def check_run(self, shards: list[Shard], plan: Plan, bad: set[str], *, rescore: bool, allow_stale: bool) -> None:
        planned = {shard.relative: content(shard, plan) for shard in shards}
        failing = {relative for relative in planned if name_of(relative) in bad}
        before = self.held()
        lost = self.lost(before, planned, rescore, allow_stale)
        try:
            scored = run(self.out, shards, plan, bad=failing, rescore=rescore, allow_stale=allow_stale, content=content)
        except OutputError as error:
            assert self.held() == before, f"a refusal changed something: {error}"
            assert lost is not False or self.is_foreign(before), f"nothing would be lost: {error}"
            return
        assert lost is not True, "something was lost that no option permits"
        held = {name: written for name, written in self.held().items() if not name.startswith("_")}
        same = {one for one, old in self.intact.items() if planned.get(one) == old and before.get(one) == old}
        assert scored.keys() == planned.keys() - same
        failed = failing & scored.keys()
        done = planned.keys() - failed
        assert {one: held[one] for one in done} == {one: planned[one] for one in done}
        for one in failed:
            assert held.get(one) == before.get(one), "an earlier output is kept"
        for one in held.keys() - planned.keys():
            assert name_of(one) not in map(name_of, planned) and held[one] == before[one]
        assert (OutputFolder(self.out).why_unfinished() is None) == (not failed)
        stale = {one: old for one, old in self.intact.items() if one not in planned and one in held}
        self.intact = stale | {one: held[one] for one in done}
        if not failed:
            rows = Counter(row for one in planned for row in rows_of(held[one]))
            names = {name_of(one) for one in planned}
            keep = next(iter(shards)).columns.get("keep", "")
            assert rows == Counter(
                Row(name, self.inputs[name].version, number, plan.signature, str(keep))
                for name in names
                for number in range(sum(self.inputs[name].groups))
            ), "every row once"

    def lost(
        self, before: dict[str, bytes], planned: dict[str, bytes], rescore: bool, allow_stale: bool
    ) -> bool | None:
        """Whether labels or rows would be lost that no option permits, by what is intact; ``None`` where files without
        a receipt, or damaged ones, leave it open."""
        names = {*map(name_of, planned)}
        known = {one for one in before if not one.startswith("_")} | self.recorded(before)
        if not allow_stale and not {*map(name_of, self.intact)} <= names:
            return True
        if not rescore:
            new, old = (
                Counter(name_of(one) for one in held for _ in rows_of(held[one])) for held in (planned, self.intact)
            )
            again = {one: rows_of(lines)[0] for one, lines in self.intact.items() if planned.get(one) != lines}
            for one, row in again.items():
                if name_of(one) not in names:
                    continue
                if one not in planned or old[row.name] > new[row.name]:
                    return True
                if row.signature != rows_of(planned[one])[0].signature:
                    return True
        is_open = (
            known != self.intact.keys() if not rescore else not allow_stale and not {*map(name_of, known)} <= names
        )
        return None if is_open else False

    def is_foreign(self, before: dict[str, bytes]) -> bool:
        """Whether there are files of which neither a plan nor a receipt says that they are a run's."""
        return bool({one for one in before if not one.startswith("_")} - self.recorded(before))

    def held(self) -> dict[str, bytes]:
        """All files but temporary ones."""
        found = files(self.out) if self.out.exists() else {}
        return {name: written for name, written in found.items() if not TEMPORARY.fullmatch(name)}

    def recorded(self, before: dict[str, bytes]) -> set[str]:
        """Outputs with a receipt, a record of a failure or a place in the plan, damaged or not."""
        found = {
            name.removeprefix(folder).removesuffix(".json")
            for name in before
            for folder in ("_receipts/", "_failed/")
            if name.startswith(folder)
        }
        plan = OutputFolder(self.out).read_plan(lambda message: None) if before else None
        return found | set(plan.inputs if plan is not None else ())

    @invariant()
    def receipts_are_of_whole_outputs(self) -> None:
        """Or of those that were damaged since."""
        receipts = OutputFolder(self.out).receipts() if self.out.exists() else {}
        for one, old in self.intact.items():
            receipt = receipts[one]
            assert isinstance(receipt, Receipt) and receipt.output.bytes == len(old)


@pytest.mark.parametrize("examples", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_any_order_of_runs_and_damage(examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    bounds = settings(max_examples=examples, stateful_step_count=12, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(OutputMachine, settings=bounds)
