"""The plan of a run, ``_plan.json``: everything that the bytes of an output depend on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Self

from ..system.codec import Count, Magnitude, Record, decode, encode
from ..system.formats import PLAN_SCHEMA
from .receipts import FAILED, RECEIPTS, Fingerprint, InputRecord, digest

if TYPE_CHECKING:
    from .shards import Shard

PLAN, RUN, SUCCESS, LOCK = "_plan.json", "_run.json", "_SUCCESS", "_lock"
OWN_NAMES = frozenset({PLAN, RUN, SUCCESS, LOCK, RECEIPTS, FAILED})
"""Names in an output folder that are not those of shards."""


class ExactBudget(Record, frozen=True):
    """The measured bound of ``--exact``. ``largest``: largest |Δlogit| between the variant and fp32 on ``pairs``
    pairs."""

    pairs: Count
    largest: Magnitude


class Budgets(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds of windows and batches; ``None`` where no run has chosen one yet.

    Rows and bytes of a window, rows of the first windows of a shard, tokens of a batch, step of padded lengths,
    threads, the bound of ``--exact``, and on a device with a choice of them the layout of a call and its attention.
    """

    window_rows: Count | None = None
    window_bytes: Count | None = None
    first_rows: tuple[Count, ...] | None = None
    batch_tokens: Count | None = None
    length_step: Count | None = None
    threads: Count | None = None
    exact: ExactBudget | None = None
    layout: str | None = None
    attention: str | None = None


class PlannedReuse(Record, frozen=True):
    """An earlier output that labels may come from. ``shards``: usable ones; ``digest``: of their receipts."""

    out: str
    signature: str
    shards: Count
    digest: str


class Part(Record, frozen=True):
    """Part ``number`` of ``count``, from 1. ``shards``: :func:`shards_digest` of the shards of all parts."""

    number: Count
    count: Count
    shards: str


class Plan(Record, frozen=True, kw_only=True, dict=True):
    """A plan.

    ``inputs``: by the relative path of their output. ``device``: its kind and name; ``provider``, ``runtime``: the
    execution provider and the version of ONNX Runtime; ``versions``: of the packages that labels or files depend on,
    pyarrow among them. ``limit``: rows to score, all when ``None``. ``settings``: of the scorer, in the types of JSON.
    ``part``: the part of the shards that this output has. ``reuse_digest``: digest of the outputs of ``reuse``.
    ``split_rows``: rows of a shard at most; ``None`` where inputs are not divided.
    """

    schema: int = PLAN_SCHEMA
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

    @classmethod
    def decode(cls, content: bytes, where: str) -> Self:
        """The plan in the bytes of a file.

        Args:
            where: the file, for messages.

        Raises:
            SchemaError: another version of this program wrote it. DamagedFileError: names the field.
        """
        return decode(content, cls, where)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its content, as hex; every receipt names it."""
        return sha256(encode(self, canonical=True)).hexdigest()

    @property
    def content(self) -> bytes:
        """The bytes of ``_plan.json``."""
        return encode(self, indent=1)

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
        found = [
            f"{name}: {getattr(self, name)} → {getattr(other, name)}"
            for name in ("device", "provider", "runtime")
            if getattr(self, name) != getattr(other, name)
        ]
        names = sorted({*self.versions, *other.versions} - {"pyarrow"})  # which writes files, not labels
        pairs = {name: (self.versions.get(name), other.versions.get(name)) for name in names}
        return "; ".join(found + [f"{name}: {one} → {two}" for name, (one, two) in pairs.items() if one != two])


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

    return digest({relative: content(record) for relative, record in inputs.items()})
