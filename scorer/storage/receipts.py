"""Receipts of shards: the input, the settings and the output of each. ``_receipts/<relative>.json`` is written after
an output has its name, and makes the shard done; ``_failed/<relative>.json`` says why one was quarantined."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, Self

from msgspec import field

from ..errors import OutputError
from ..system.codec import Count, Magnitude, OpenRecord, Record
from ..system.files import sha256_of

RECEIPTS, FAILED = "_receipts", "_failed"
SIGNATURE_KEY, SIGNATURE_PARTS_KEY = "d2t_scorer.signature", "d2t_scorer.signature_parts"
"""Keys in a Parquet footer: the line of the signature; its parts with whole digests, as canonical JSON."""
ROW_RANGE = re.compile(r"(?<=\.parquet)/part-[0-9]{5,}\.parquet$")
"""The end of the path of an output that has a range of the rows of its input."""
_SUFFIX = ".json"
_SHOWN = 40
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

Groups = tuple[Count, Count]
"""First row group and end, of an input that ``--split-rows`` divides."""


class _Sums(OpenRecord, frozen=True):
    """Counts: every field is a number, an object of them, or counts again; those of windows add up to those of a
    shard, and these to those of a run."""

    @classmethod
    def total(cls, records: Iterable[Any]) -> Self:
        """Their sum, field by field; keys of objects come in the order in which they are first met."""
        parts = [part for part in records if part is not None]
        if not parts:
            return cls()
        return cls(*(_sum([getattr(part, name) for part in parts]) for name in cls.__struct_fields__))


def _sum(values: Sequence[Any]) -> Any:
    parts = [value for value in values if value is not None]
    if not parts:
        return None
    if isinstance(parts[0], Mapping):
        keys = dict.fromkeys(key for part in parts for key in part)
        return {key: _sum([part.get(key) for part in parts]) for key in keys}
    return type(parts[0]).total(parts) if isinstance(parts[0], _Sums) else sum(parts)


class RowCounts(_Sums, frozen=True):
    """Counts of rows: all rows are scored, reused, or have an error."""

    all: Count = field(name="in", default=0)
    """All rows; ``in`` in JSON."""
    scored: Count = 0
    """Rows that got a label from the model."""
    reused: Count = 0
    """Rows with a label of an earlier output."""
    errors: Mapping[str, Count] = field(default_factory=dict)
    """Rows without a label, by kind of error."""
    notes: Mapping[str, Count] = field(default_factory=dict)
    """Rows by note."""


class PredicateCounts(_Sums, frozen=True):
    """Counts of the facts of one predicate."""

    template: Count = 0
    """Facts with a template."""
    backoff: Count = 0
    """Facts by backoff."""

    @property
    def all(self) -> int:
        return self.template + self.backoff


class FactCounts(PredicateCounts, frozen=True):
    """Counts of facts."""

    by_predicate: Mapping[str, PredicateCounts] = field(default_factory=dict)
    """Counts of the facts of each predicate."""
    skipped: Count = 0
    """Attributes without a value, which are no facts."""


class CheckCounts(_Sums, frozen=True):
    """Counts of checks and of the pairs behind them."""

    all: Count = 0
    """Checks that were asked."""
    unique: Count = 0
    """Distinct pairs among them."""
    computed: Count = 0
    """Pairs that the model computed."""
    recomputed: Count = 0
    """Pairs that it computed again in fp32."""


class TokenCounts(_Sums, frozen=True):
    """Tokens of the pairs."""

    real: Count = 0
    """Tokens without padding."""
    padded: Count = 0
    """Tokens with padding."""


class Counts(_Sums, frozen=True):
    """Counts of some rows, and of their facts, checks and tokens."""

    rows: RowCounts = field(default_factory=RowCounts)
    """Counts of rows."""
    labels: Mapping[str, Count] = field(default_factory=dict)
    """Rows by label."""
    facts: FactCounts = field(default_factory=FactCounts)
    """Counts of facts."""
    checks: CheckCounts = field(default_factory=CheckCounts)
    """Counts of checks."""
    tokens: TokenCounts = field(default_factory=TokenCounts)
    """Counts of tokens."""

    @property
    def error_rate(self) -> float:
        """Share of rows that have an error instead of a label."""
        return sum(self.rows.errors.values()) / self.rows.all if self.rows.all else 0.0


class Signed(Protocol):
    """A record of scores: a plan, or a fingerprint."""

    @property
    def signature(self) -> str: ...
    @property
    def signature_parts(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Signature:
    """A signature."""

    line: str
    """One line with digests of twelve digits; empty without a signature."""
    whole: str
    """All parts as canonical JSON, with whole digests."""

    @property
    def parts(self) -> dict[str, Any]:
        return dict(json.loads(self.whole))

    @property
    def footer(self) -> dict[str, str]:
        """Entries of a Parquet footer."""
        return {SIGNATURE_KEY: self.line, SIGNATURE_PARTS_KEY: self.whole}

    @classmethod
    def of(cls, record: Signed) -> Self:
        return cls(record.signature, canonical(record.signature_parts))

    @classmethod
    def of_line(cls, line: str) -> Self:
        return cls(line, canonical(line_parts(line)))

    @classmethod
    def of_footer(cls, metadata: Mapping[bytes, bytes] | None) -> Self:
        """The signature in a Parquet footer; its line is empty when there is none."""
        entries = metadata or {}
        line = entries.get(SIGNATURE_KEY.encode(), b"").decode(errors="replace")
        with suppress(ValueError, RecursionError):
            parts = json.loads(entries.get(SIGNATURE_PARTS_KEY.encode(), b"").decode(errors="replace"))
            if isinstance(parts, dict):
                return cls(line, canonical(parts))
        return cls.of_line(line)

    def changes_to(self, other: Signature) -> list[ValueChange]:
        """The parts in which two signatures differ; empty only when they are the same."""
        if self != other and not (self.line and other.line):
            return changes({"signature": self.line or None}, {"signature": other.line or None})
        return changes(line_parts(self.line), line_parts(other.line)) or changes(self.parts, other.parts)


class Identity(Record, frozen=True, omit_defaults=True):
    """Identity of an input."""

    size: Count
    """Size in bytes."""
    mtime_ns: int | None
    """Time of the last change in nanoseconds; ``None`` where a store has none."""
    footer_sha256: str
    """SHA-256 of the Parquet footer as hex; of a text file, of its whole content."""
    e_tag: str = ""
    """Version that an object store gave it; empty for a local file."""


class InputFile(Record, frozen=True, omit_defaults=True):
    """A file of the inputs."""

    uri: str
    """Absolute local path, or URI of an object."""
    relative: str
    """POSIX path of its output below OUT."""
    form: str = "parquet"
    """``parquet``, ``csv``, ``tsv`` or ``jsonl``."""
    delimiter: str | None = None
    """Delimiter of CSV and TSV; ``None`` for the one of the header."""

    @property
    def name(self) -> str:
        """The path of its output, but with the suffix of the input, for messages."""
        folder, slash, _ = self.relative.rpartition("/")
        return self.relative if self.form == "parquet" else folder + slash + self.uri.rpartition("/")[2]


class Shard(Record, frozen=True, omit_defaults=True):
    """Rows that become one output file: all of an input, or a range of its row groups."""

    file: InputFile
    """The input."""
    relative: str
    """POSIX path of the output below OUT."""
    identity: Identity
    """Identity of the input."""
    rows: Count
    """Number of rows to score, from the first on."""
    bytes: Count
    """Approximate bytes of the input that these rows take and the output keeps."""
    groups: Groups | None = None
    """Range of row groups; ``None`` for all."""
    limit: Count | None = None
    """Number of rows, where ``--limit`` cuts the shard."""
    columns: Mapping[str, Any] = {}
    """Choices that the columns of the output depend on."""

    def __hash__(self) -> int:
        return hash(self.relative)

    @property
    def min_output_bytes(self) -> int:
        """Least size of the output in bytes: row keys do not compress, columns of the input may."""
        return 4096 + 20 * self.rows + self.bytes // 4

    @property
    def name(self) -> str:
        return self.file.name if self.groups is None else self.relative


class InputRecord(Record, frozen=True, omit_defaults=True):
    """An input, as plans and receipts record it."""

    uri: str
    """Absolute local path, or URI of an object."""
    identity: Identity | None
    """Identity; ``None`` if it could not be opened."""
    content_sha256: str | None = None
    """SHA-256 of a local file; ``None`` if it was not taken."""
    groups: Groups | None = None
    """Row groups that were read; ``None`` for all."""


class WrittenFile(Record, frozen=True, omit_defaults=True):
    """A complete file."""

    sha256: str
    """SHA-256 as hex."""
    bytes: Count
    """Size in bytes."""
    rows: Count
    """Number of rows."""
    e_tag: str = ""
    """Version in an object store; empty for a local file."""


class Provenance(Record, frozen=True, kw_only=True):
    """Origin of an output."""

    run: str
    """Id of the run."""
    worker: str
    """Device of the worker."""
    origin: Mapping[str, Any]
    """Environment of the computation; the scorer alone knows its fields."""
    seconds: Mapping[str, Magnitude]
    """Seconds by stage."""
    computed: Count
    """Pairs that the model computed."""


class Fingerprint(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that an output depends on in addition to the content of its input, in the types of JSON."""

    signature: str
    """Signature of the scores in one line."""
    signature_parts: Mapping[str, Any]
    """Parts of the signature, with whole digests."""
    columns: Any = None
    """Choices that its columns depend on."""
    rows: Count | None = None
    """Limit of its rows; ``None`` for all."""
    reuse: str = ""
    """Digest of the outputs that labels may come from."""
    groups: Groups | None = None
    """Row groups of its input; ``None`` for all."""

    def differences(self, other: Fingerprint) -> list[str]:
        """The parts in which another one differs, in words."""
        changed = Signature.of(self).changes_to(Signature.of(other))
        reasons = [f"signature differs: {', '.join(map(str, changed))}"] if changed else []
        parts = ("columns", "reuse", "rows")
        before, after = ({part: getattr(fingerprint, part) for part in parts} for fingerprint in (self, other))
        reasons += map(str, changes(before, after))
        if self.groups != other.groups:  # other numbers for each shard, and one reason covers all
            reasons.append("it has other rows of its input (--split-rows)")
        return reasons


class Receipt(Record, frozen=True, kw_only=True):
    """Record of a finished shard."""

    schema: int = 4
    """Version of the format."""
    relative: str
    """Path of the output below OUT."""
    input: InputRecord
    """The input."""
    fingerprint: Fingerprint
    """Everything else that the output depends on."""
    output: WrittenFile
    """The output file."""
    counts: Counts
    """Counts of its rows."""
    plan: str
    """Digest of the plan that it was scored under."""
    halved: bool = False
    """Whether its windows had half the size of the plan's, for want of memory."""
    created: str = ""
    """Time in UTC, ISO 8601."""
    provenance: Provenance
    """Origin of the output."""


@dataclass(frozen=True)
class Unusable:
    """A receipt that cannot be used, or a shard that is not done or cannot be used."""

    reason: str
    """The reason in words."""


@dataclass(frozen=True)
class NoReceipt(Unusable):
    """A shard without a receipt: no run has finished it."""

    reason: str = "it has no receipt"


class FailedShard(Record, frozen=True, kw_only=True):
    """Record of a quarantined shard."""

    schema: int = 1
    """Version of the format."""
    relative: str
    """Path of the output below OUT."""
    kind: str = ""
    """Kind of the error."""
    message: str = ""
    """The error in words."""
    identity: Identity | None = None
    """Identity of its input; ``None`` if that could not be opened."""
    created: str = ""
    """Time in UTC, ISO 8601."""


@lru_cache(maxsize=1024)
def content_sha256(uri: str, identity: Identity) -> str | None:
    """SHA-256 of a local file, as hex, to tell a touched file from a changed one; ``None`` for an object, which would
    have to be sent again, and for a file that cannot be read or has another identity."""
    try:
        with open(uri, "rb") as file:  # noqa: PTH123  (names that are not UTF-8 stay as they are)
            digest, status = sha256_of(file), os.fstat(file.fileno())
    except (OSError, ValueError):  # also for a URI, which is no local file
        return None
    return digest if (status.st_size, status.st_mtime_ns) == (identity.size, identity.mtime_ns) else None


def digest_of(receipts: Iterable[Receipt]) -> bytes:
    """SHA-256 over the outputs of receipts, as hex: the content of ``_SUCCESS``."""
    content = sorted([receipt.relative, receipt.output.sha256, receipt.output.rows] for receipt in receipts)
    return sha256(canonical(content).encode("ascii")).hexdigest().encode("ascii")


def is_output(relative: str) -> bool:
    """Whether an output may have a path: not absolute, not upwards, and no part begins with ``_`` or ``.``."""
    parts = relative.split("/")
    return "\0" not in relative and all(part and part[0] not in "_." for part in parts)


def receipt_name(relative: str, folder: str = RECEIPTS) -> str:
    """Name of a shard's receipt, or in the folder :data:`FAILED` of its record of a failure; an :class:`.OutputError`
    where no output can have this path."""
    if not is_output(relative):
        raise OutputError(
            f"{relative!r} is not a valid output path: it must be inside the output folder, and no part of it may "
            "begin with '_' or '.'"
        )
    return f"{folder}/{relative}{_SUFFIX}"


def relatives_of(names: Iterable[str], folder: str) -> list[str]:
    """Paths of the shards that have a record in a folder, :data:`RECEIPTS` or :data:`FAILED`, sorted."""
    skip = len(folder) + 1
    records = (name for name in names if name.startswith(f"{folder}/") and name.endswith(_SUFFIX))
    paths = [name[skip : -len(_SUFFIX)] for name in records]
    return sorted(filter(is_output, paths))


def canonical(content: Any) -> str:
    """Content as JSON with sorted keys, without blanks, in ASCII; equal content has equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def line_parts(line: str) -> dict[str, str]:
    """The parts of a signature line (``key:value|key:value``) by key."""
    return dict(part.partition(":")[::2] for part in line.split("|"))


class ValueChange(NamedTuple):
    """A key in which two objects differ; as text ``key: before → after``."""

    key: str
    """Key of the two values."""
    before: str
    """Value in the first object, shortened if the shortened values differ, too."""
    after: str
    """Value in the second object."""

    def __str__(self) -> str:
        return f"{self.key}: {self.before} → {self.after}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ValueChange]:
    """The keys in which two objects differ. A nested object is compared key by key."""
    different: list[ValueChange] = []
    for key in dict.fromkeys([*before, *after]):
        earlier, later = before.get(key), after.get(key)
        if earlier == later:
            continue
        if isinstance(earlier, Mapping) and isinstance(later, Mapping):
            different += changes(earlier, later)
            continue
        can_shorten = _shown(earlier) != _shown(later)
        different.append(ValueChange(key, _shown(earlier, shorten=can_shorten), _shown(later, shorten=can_shorten)))
    return different


def _shown(value: Any, shorten: bool = True) -> str:
    text = "none" if value is None else value if isinstance(value, str) else canonical(value)
    short = _DIGEST.sub(lambda digest: digest[0][:12], text)
    short = short if len(short) <= _SHOWN else short[: _SHOWN - 3] + "..."
    return short if shorten else text
