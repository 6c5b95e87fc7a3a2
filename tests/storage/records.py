"""Plans, shards and receipts for tests of what only needs that there are some."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from scorer.storage.location import Location
from scorer.storage.output_writer import OutputWriter, lock_output, upload
from scorer.storage.receipts import (
    Counts,
    Identity,
    InputRecord,
    Provenance,
    Receipt,
    RowCounts,
    WrittenFile,
    line_parts,
)
from scorer.storage.run_plan import Budgets, Plan
from scorer.storage.shards import InputFile, Shard

SIGNATURE = "model:x|prec:int8"
IDENTITY = Identity(10, 1_784_000_000_123_456_789, "ab")


def make_shard(
    relative: str,
    rows: int = 3,
    *,
    uri: str = "/in/file",
    identity: Identity = IDENTITY,
    **more: Any,
) -> Shard:
    """A shard of which the output keeps no column of the input."""
    file = InputFile(uri=uri, relative=relative)
    return Shard(file=file, relative=relative, identity=identity, rows=rows, bytes=0, **more)


def make_plan(shards: Iterable[Shard], signature: str = SIGNATURE, **changes: Any) -> Plan:
    """A plan of shards."""
    plan = Plan(
        signature=signature,
        signature_parts=line_parts(signature),
        inputs={one.relative: InputRecord(one.file.uri, one.identity, groups=one.groups) for one in shards},
        budgets=Budgets(),
        device="cpu x",
        provider="CPU",
        runtime="1.0",
        versions={"numpy": "2", "pyarrow": "20"},
        settings={},
    )
    return replace(plan, **changes)


def content_of(shard: Shard, plan: Plan | None = None) -> bytes:
    """The output that tests take a shard to have."""
    return f"{shard.relative}:{shard.rows}".encode()


def make_receipt(shard: Shard, plan: Plan, content: bytes | None = None, **changes: Any) -> Receipt:
    """The receipt of an output, by default of :func:`content_of` the shard."""
    content = content_of(shard) if content is None else content
    receipt = Receipt(
        relative=shard.relative,
        input=InputRecord(shard.file.uri, shard.identity, groups=shard.groups),
        fingerprint=plan.fingerprint(shard),
        output=WrittenFile(sha256(content).hexdigest(), len(content), shard.rows),
        counts=Counts(RowCounts(all=shard.rows)),
        plan=plan.digest,
        provenance=Provenance(run="r", worker=plan.device, origin={"runtime": plan.runtime}, seconds={}, computed=0),
    )
    return replace(receipt, **changes)


def score(
    output: OutputWriter, shard: Shard, plan: Plan, content: Callable[[Shard, Plan], bytes] = content_of
) -> Receipt:
    """Write and publish the output of a shard as a worker does."""
    temporary, written = output.temporary(shard.relative), content(shard, plan)
    temporary.write_bytes(written)
    receipt, store = make_receipt(shard, plan, written), output._output.store
    if store.is_remote:
        return output.publish(None, upload(store, temporary, receipt))
    return output.publish(temporary, receipt)


def run(
    location: Location,
    shards: list[Shard],
    plan: Plan | None = None,
    *,
    bad: Iterable[str] = (),
    rescore: bool = False,
    allow_stale: bool = False,
    content: Callable[[Shard, Plan], bytes] = content_of,
) -> dict[str, str]:
    """A run as the driver does it; why each shard was scored, by relative path.

    Args:
        bad: shards that are quarantined.
        content: the output of a shard.
    """
    plan = plan or make_plan(shards)
    with lock_output(location) as output:
        stored = output.read_plan(lambda message: None)
        state = output.compare(plan, shards, stored, rescore=rescore)
        state.refuse_replacement(rescore=rescore, allow_stale=allow_stale)
        writer = output.begin(state)
        for shard in state.todo:
            if shard.relative in bad:
                writer.quarantine(shard.relative, "unreadable", "it is bad", shard.identity)
            else:
                score(writer, shard, plan, content)
        writer.finish(b"{}", writer.totals(shards))
    return {shard.relative: receipt.reason for shard, receipt in state.todo.items()}
