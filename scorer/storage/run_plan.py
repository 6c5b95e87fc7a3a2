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
"""Names in an output folder that are not those of shards."""


class Budgets(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds of windows and batches, ``None`` where no run has chosen one yet; ``length_step``: of padded lengths;
    ``layout``, ``attention``: of a call, on a device with a choice of them."""

    window_rows: Count | None = None
    window_bytes: Count | None = None
    first_rows: tuple[Count, ...] | None = None
    batch_tokens: Count | None = None
    length_step: Count | None = None
    threads: Count | None = None
    exact: ExactBound | None = None
    layout: str | None = None
    attention: str | None = None


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
    """A plan. ``inputs``: by the relative path of their output. ``device``: its kind and name. ``provider``,
    ``runtime``: the execution provider and the version of ONNX Runtime. ``versions``: of the packages that labels or
    files depend on. ``limit``: rows to score. ``settings``: of the scorer, in the types of JSON. ``reuse_digest``: of
    the outputs of ``reuse``. ``split_rows``: rows of a shard at most."""

    schema: int = 2
    signature: str
    signature_parts: Mapping[str, Any]
    inputs: Mapping[str, InputRecord]
    budgets: Budgets
    device: str
    provider: str
    runtime: str
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    limit: Count | None = None
    part: Part | None = None
    reuse: tuple[PlannedReuse, ...] = ()
    reuse_digest: str = ""
    split_rows: Count | None = None

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


def find_outputs(given: Iterable[Location]) -> list[Location]:
    """The outputs at some places: a place itself, or, if it has no plan, the outputs directly below it."""
    outputs: list[Location] = []
    for place in given:
        below: list[Location] = []
        if not isinstance(place, Path):
            store = open_store(place, patient=False)
            names = [] if PLAN in store.list(PLAN) else store.list()
            below = [place.below(name.split("/")[0]) for name in names if name.partition("/")[2] == PLAN]
        elif place.is_dir() and not (place / PLAN).exists():
            below = [child for child in sorted(place.iterdir()) if (child / PLAN).is_file()]
        outputs += below or [place]
    return outputs


def check_parts(
    plans: Mapping[str, Plan],
    allow_partial: bool = False,
    advice: str = "name all of them, or the folder above them, or pass --allow-partial",
) -> tuple[int, ...]:
    """Refuse (:class:`.OutputError`) outputs that are not the parts of one run; the numbers of missing parts.

    Args:
        plans: by the name of the output. allow_partial: parts may be missing, and planned over other inputs.
        advice: what to do about a missing part.
    """
    first, plan = next(iter(plans.items()))
    if plan.part is None and len(plans) == 1:
        return ()
    numbers: dict[int, str] = {}
    for name, other in plans.items():
        if plan.part is None or other.part is None:
            raise OutputError(
                f"{named([*plans])} are not parts of one run (--part): name one output, or all parts of one"
            )
        changed = [*map(str, Signature.of(plan).changes_to(Signature.of(other)))]
        if other.part.count != plan.part.count:
            changed.append(f"number of parts: {plan.part.count} → {other.part.count}")
        elif other.part.shards != plan.part.shards and not allow_partial:
            changed.append("other inputs")
        if changed:
            raise OutputError(
                f"{first} and {name} are not parts of one run ({', '.join(changed)}); score one of them again"
            )
        if (earlier := numbers.setdefault(other.part.number, name)) != name:
            raise OutputError(f"part {other.part.number} of {plan.part.count} is there twice: {earlier} and {name}")
    assert plan.part is not None
    missing = tuple(number for number in range(1, plan.part.count + 1) if number not in numbers)
    if missing and not allow_partial:
        raise OutputError(
            f"{named([*plans])}: {len(missing):,} of {plan.part.count:,} parts are missing (part {named(missing)}); "
            f"{advice}"
        )
    return missing
