"""The plan of a run, ``_plan.json``: everything that the bytes of an output depend on; and the parts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..system.bounds import ExactBound
from ..system.codec import Count, Record, encode
from .location import Location, named
from .receipts import FAILED, RECEIPTS, Fingerprint, InputRecord, Shard, Signature, canonical, changes
from .store import open_store

PLAN, RUN, SUCCESS, LOCK = "_plan.json", "_run.json", "_SUCCESS", "_lock"
OWN_NAMES = frozenset({PLAN, RUN, SUCCESS, LOCK, RECEIPTS, FAILED})
"""Names in an output folder that no shard has."""


class Budgets(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds of windows and batches; ``None`` where no run has chosen one yet."""

    window_rows: Count | None = None
    """Most rows of a window."""
    window_bytes: Count | None = None
    """Most bytes of a window, but for a single row that has more."""
    first_rows: tuple[Count, ...] | None = None
    """Most rows of the first windows of a shard."""
    batch_tokens: Count | None = None
    """Most tokens of a batch."""
    length_step: Count | None = None
    """Step of padded lengths, in tokens."""
    threads: Count | None = None
    """Threads on the CPU."""
    exact: ExactBound | None = None
    """Bound of ``--exact``; ``None`` without it."""
    layout: str | None = None
    """Layout of a call, on a device with a choice of them."""
    attention: str | None = None
    """Attention kernel of a call, on a device with a choice of them."""


class PlannedReuse(Record, frozen=True):
    """An earlier output that labels may come from."""

    out: str
    """Path or URI of the output."""
    signature: str
    """Signature of its plan in one line."""
    shards: Count
    """Number of usable shards."""
    digest: str
    """Digest of their receipts."""


class Part(Record, frozen=True):
    """A part of a run (``--part``)."""

    number: Count
    """Number of the part, from 1."""
    count: Count
    """Number of parts."""
    shards: str
    """Digest of the shards of all parts (:func:`shards_digest`)."""


class Plan(Record, frozen=True, kw_only=True, dict=True):
    """A plan."""

    schema: int = 2
    """Version of the format."""
    signature: str
    """Signature of the scores in one line."""
    signature_parts: Mapping[str, Any]
    """Parts of the signature, with whole digests."""
    inputs: Mapping[str, InputRecord]
    """Inputs, by the relative path of their output."""
    budgets: Budgets
    """Bounds of windows and batches."""
    device: str
    """Kind and name of the device."""
    provider: str
    """Execution provider of ONNX Runtime."""
    runtime: str
    """Version of ONNX Runtime."""
    versions: Mapping[str, str]
    """Versions of the packages that labels or files depend on."""
    settings: Mapping[str, Any]
    """Settings of the scorer, in the types of JSON."""
    limit: Count | None = None
    """Rows to score; ``None`` for all."""
    part: Part | None = None
    """Part of the run; ``None`` for all of it."""
    reuse: tuple[PlannedReuse, ...] = ()
    """Earlier outputs that labels may come from."""
    reuse_digest: str = ""
    """Digest of these outputs."""
    split_rows: Count | None = None
    """Most rows of a shard; ``None`` for whole files."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its content, as hex; every receipt names it."""
        return sha256(encode(self, canonical=True)).hexdigest()

    def fingerprint(self, shard: Shard) -> Fingerprint:
        """The fingerprint that the receipt of a shard has under this plan."""
        return Fingerprint(
            signature=self.signature,
            signature_parts=self.signature_parts,
            columns=shard.columns,
            rows=shard.limit,
            reuse=self.reuse_digest,
            groups=shard.groups,
        )

    def hardware_changes(self, other: Plan) -> str:
        """Differences in device and versions that numbers depend on besides the signature, as ``device: a → b``; empty
        if there are none."""
        before, after = (
            {"device": plan.device, "provider": plan.provider, "runtime": plan.runtime, **plan.versions, "pyarrow": ""}
            for plan in (self, other)  # pyarrow writes files, not labels
        )
        return "; ".join(map(str, changes(before, after)))


def belongs_to_part(relative: str, number: int, count: int) -> bool:
    """Whether an output is in part ``number`` of ``count``, from 1: by the hash of its path, so that new inputs move no
    others."""
    hashed = blake2b(relative.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(hashed, "little") % count + 1 == number


def shards_digest(inputs: Mapping[str, InputRecord]) -> str:
    """Digest of the shards of all parts: the paths of their outputs, and size and footer of their inputs."""

    def content(record: InputRecord) -> list[Any]:
        identity = record.identity
        return [record.groups, *((identity.size, identity.footer_sha256) if identity is not None else ())]

    return sha256(
        canonical({relative: content(record) for relative, record in inputs.items()}).encode("ascii")
    ).hexdigest()


def find_outputs(locations: Iterable[Location]) -> list[Location]:
    """The outputs at some locations: a location itself, or, if it has no plan, the outputs directly below it."""
    outputs: list[Location] = []
    for location in locations:
        below: list[Location] = []
        if not isinstance(location, Path):
            store = open_store(location, patient=False)
            names = [] if PLAN in store.list(PLAN) else store.list()
            below = [location.below(name.split("/")[0]) for name in names if name.partition("/")[2] == PLAN]
        elif location.is_dir() and not (location / PLAN).exists():
            below = [child for child in sorted(location.iterdir()) if (child / PLAN).is_file()]
        outputs += below or [location]
    return outputs


def check_parts(
    plans: Mapping[str, Plan],
    allow_partial: bool = False,
    advice: str = "name all of them, or the folder above them, or pass --allow-partial",
) -> tuple[int, ...]:
    """Refuse (:class:`.OutputError`) outputs that are not the parts of one run.

    Args:
        plans: plans, by the name of the output.
        allow_partial: permits missing parts, and parts that were planned over other inputs.
        advice: how to fix a missing part.

    Returns:
        Numbers of the missing parts.
    """
    first, plan = next(iter(plans.items()))
    if plan.part is None and len(plans) == 1:
        return ()
    numbers: dict[int, str] = {}
    for name, later in plans.items():
        if plan.part is None or later.part is None:
            raise OutputError(
                f"{named([*plans])} are not parts of one run (--part): name one output, or all parts of one"
            )
        changed = [*map(str, Signature.of(plan).changes_to(Signature.of(later)))]
        if later.part.count != plan.part.count:
            changed.append(f"number of parts: {plan.part.count} → {later.part.count}")
        elif later.part.shards != plan.part.shards and not allow_partial:
            changed.append("other inputs")
        if changed:
            raise OutputError(
                f"{first} and {name} are not parts of one run ({', '.join(changed)}); score one of them again"
            )
        if (earlier := numbers.setdefault(later.part.number, name)) != name:
            raise OutputError(f"part {later.part.number} of {plan.part.count} is there twice: {earlier} and {name}")
    assert plan.part is not None
    missing = tuple(number for number in range(1, plan.part.count + 1) if number not in numbers)
    if missing and not allow_partial:
        raise OutputError(
            f"{named([*plans])}: {len(missing):,} of {plan.part.count:,} parts are missing (part {named(missing)}); "
            f"{advice}"
        )
    return missing
