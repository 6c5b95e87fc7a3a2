"""An output, read: its plan, its receipts, and the comparison of both with the plan of a run. Nothing here writes.

An :class:`OutputState` is one comparison: it has the shards to score, the outputs that would be lost, and the reason of
a refusal. :mod:`.output_writer` carries it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath

from msgspec.structs import replace

from ..errors import DamagedFileError, DeviceError, OutputError, count_of
from ..system.codec import decode, unseal
from ..system.files import sha256_of
from ..system.waiting import map_in_threads
from .local_files import TEMPORARY, FileInfo
from .location import Location, named
from .receipts import (
    FAILED,
    RECEIPTS,
    ROW_RANGE,
    FailedShard,
    Identity,
    NoReceipt,
    Receipt,
    Shard,
    Signature,
    Unusable,
    ValueChange,
    content_sha256,
    digest_of,
    is_output,
    receipt_name,
    relatives_of,
)
from .run_plan import PLAN, SUCCESS, Plan
from .store import Store, open_store

READERS = 16
"""Number of small files, or footers, of a store that are read at once."""


class OutputFolder:
    """An output in a store.

    Args:
        location: location of the output.
        patient: retry requests to an object store for minutes instead of seconds.
        store: store of the location, if it is open already.
    """

    def __init__(self, location: Location, *, patient: bool = True, store: Store | None = None) -> None:
        self.location = location
        self.store: Store = store or open_store(location, patient=patient)

    def read_plan(self, say: Callable[[str], None] | None = None) -> Plan | None:
        """The stored plan; ``None`` if there is none.

        Args:
            say: called with a line about a damaged plan, which then counts as none.

        Raises:
            SchemaError: another version of this program wrote it.
            DamagedFileError: a damaged plan, without ``say``.
        """
        content = self.store.read(PLAN)
        try:
            return None if content is None else decode(content, Plan, f"{self.location}/{PLAN}")
        except DamagedFileError as error:
            if say is None:
                raise
            say(str(error))
            return None

    def receipt(self, relative: str) -> Receipt | Unusable:
        """The receipt of a shard, or the reason why there is no usable one; a :class:`.SchemaError` if another version
        of this program wrote it."""
        if (content := self.store.read(receipt_name(relative))) is None:
            return NoReceipt()
        try:
            receipt = unseal(content, Receipt, "its receipt", advice="")
        except DamagedFileError as error:
            return Unusable(str(error))
        return receipt if receipt.relative == relative else Unusable("its receipt is that of another output")

    def receipts(self, relatives: Iterable[str] | None = None) -> dict[str, Receipt | Unusable]:
        """The receipts of some shards, by default of all that have one; see :meth:`receipt`."""
        paths = relatives_of(self.store.list(RECEIPTS), RECEIPTS) if relatives is None else list(relatives)
        receipts = map_in_threads(self.receipt, paths, READERS) if self.store.is_remote else map(self.receipt, paths)
        return dict(zip(paths, receipts, strict=True))

    def failed_shards(self) -> dict[str, FailedShard]:
        """Quarantined shards by relative path; of a damaged record only the path is known."""
        failed = {}
        for relative in relatives_of(self.store.list(FAILED), FAILED):
            name, failed[relative] = receipt_name(relative, FAILED), FailedShard(relative=relative)
            with suppress(DamagedFileError):
                failed[relative] = decode(self.store.read(name) or b"", FailedShard, name)
        return failed

    def why_unfinished(self, receipts: Mapping[str, Receipt | Unusable] | None = None) -> str | None:
        """Why the output is not finished; ``None`` if ``_SUCCESS`` agrees with the plan and all receipts.

        Args:
            receipts: the receipts of planned shards; read by default.
        """
        success, plan = self.store.read(SUCCESS), self.read_plan(lambda message: None)
        if success is None:
            return f"it has no {SUCCESS}"
        if plan is None or not all(map(is_output, plan.inputs)):
            return f"its {PLAN} is damaged"
        receipts = self.receipts(plan.inputs) if receipts is None else receipts
        planned = {relative: receipts.get(relative, NoReceipt()) for relative in plan.inputs}
        for relative, receipt in planned.items():
            if isinstance(receipt, Unusable):
                return f"{relative}: {receipt.reason}"
        done = digest_of(receipt for receipt in planned.values() if isinstance(receipt, Receipt))
        return None if success == done else f"its {SUCCESS} does not agree with its receipts"

    def is_intact(self, receipt: Receipt, info: FileInfo | None) -> bool:
        """Whether the output of a receipt is the file that the receipt describes: by the version that an object store
        gave it, otherwise by its SHA-256.

        Args:
            receipt: the receipt.
            info: the file; ``None`` if it does not exist.
        """
        output = receipt.output
        if info is None or info.size != output.bytes:
            return False
        if output.e_tag:
            return info.version == output.e_tag
        with suppress(OSError, OutputError), self.store.open(receipt.relative, info.version) as file:
            return sha256_of(file) == output.sha256
        return False

    def quarantined(self, plan: Plan, receipts: Mapping[str, Receipt | Unusable]) -> list[FailedShard]:
        """Planned shards that failed and have no receipt since."""
        failed = self.failed_shards()
        return [failed[name] for name in plan.inputs if name in failed and not isinstance(receipts.get(name), Receipt)]

    def receipt_if_done(
        self, shard: Shard, plan: Plan, receipt: Receipt | Unusable, info: FileInfo | None
    ) -> Receipt | Unusable:
        """The receipt of a shard that is done, or the reason why it is not done.

        An input is the same while its size and footer are, and its time and version or its content.

        Args:
            shard: the shard.
            plan: the plan of the run.
            receipt: its stored receipt.
            info: its output file; ``None`` if it does not exist.
        """
        if isinstance(receipt, Unusable):
            return receipt
        fingerprint, scored = plan.fingerprint(shard), receipt.input
        if receipt.fingerprint != fingerprint:
            return Unusable("; ".join(receipt.fingerprint.differences(fingerprint)))
        if scored.identity != shard.identity:
            names = sorted(Identity.__struct_fields__)
            changed = [name for name in names if getattr(scored.identity, name, None) != getattr(shard.identity, name)]
            content = scored.content_sha256 if changed == ["mtime_ns"] else None
            if content is None or content_sha256(shard.file.uri, shard.identity) != content:
                return Unusable(f"its input changed: {', '.join(changed)}")
        is_counted = receipt.counts.rows.all == receipt.output.rows
        return receipt if is_counted and self.is_intact(receipt, info) else Unusable("its output is damaged")

    def compare(
        self, plan: Plan, shards: Sequence[Shard], stored: Plan | None, *, rescore: bool = False
    ) -> OutputState:
        """Compare the output with a plan. Outputs of shards that are done are hashed here, once in a run.

        Args:
            plan: the plan of the run.
            shards: shards of the plan that could be read.
            stored: the stored plan.
            rescore: whether to score shards of another device or runtime again.
        """
        files = self.store.list()
        receipts = self.receipts(shard.relative for shard in shards if receipt_name(shard.relative) in files)
        todo: dict[Shard, Unusable] = {}
        done: dict[str, Receipt] = {}
        for shard in shards:
            stored_receipt = receipts.get(shard.relative, NoReceipt())
            receipt = self.receipt_if_done(shard, plan, stored_receipt, files.get(shard.relative))
            if isinstance(receipt, Unusable):
                todo[shard] = receipt
                continue
            done[shard.relative], origin = receipt, receipt.provenance
            if rescore and (origin.worker, origin.origin.get("runtime")) != (plan.device, plan.runtime):
                todo[shard] = Unusable(f"it was scored elsewhere ({origin.worker})")
        if not todo and stored is not None:  # nothing is scored here, so the plan says where it was
            hardware = {name: getattr(stored, name) for name in ("device", "provider", "runtime", "versions")}
            plan = replace(plan, **hardware)
        return OutputState(self, plan, stored, len(shards), files, receipts, todo, done)


@dataclass(frozen=True)
class ExtraOutputs:
    """Outputs that are not in a plan, sorted."""

    divided: list[str]
    """Outputs of inputs that the plan divides in another way."""
    stale: list[str]
    """Outputs of inputs that are not in the plan."""


def extra_outputs(files: Mapping[str, FileInfo], plan: Plan, stored: Plan | None = None) -> ExtraOutputs:
    """Outputs among ``files`` that are not in a plan, but in the ``stored`` plan, or that have a record."""
    stored_inputs = {} if stored is None else stored.inputs
    recorded = {*stored_inputs, *relatives_of(files, RECEIPTS), *relatives_of(files, FAILED)}
    planned = {_input_of(name, record.groups) for name, record in plan.inputs.items()}
    outputs = sorted(filter(is_output, recorded - plan.inputs.keys()))
    extra = [relative for relative in outputs if {relative, receipt_name(relative)} & files.keys()]
    divided = [relative for relative in extra if ROW_RANGE.sub("", relative) in planned]
    return ExtraOutputs(divided, sorted({*extra} - {*divided}))


@dataclass(frozen=True)
class OutputState:
    """An output compared with the plan of a run, at one moment."""

    folder: OutputFolder
    """The output."""
    plan: Plan
    """Plan of the run."""
    stored: Plan | None
    """Plan in the output."""
    shards: int
    """Number of shards of the plan that could be read."""
    files: Mapping[str, FileInfo]
    """Files of the output, by name."""
    receipts: Mapping[str, Receipt | Unusable]
    """Stored receipts of planned shards, by path, or the reason why one cannot be used."""
    todo: Mapping[Shard, Unusable]
    """Shards to score, with the reason."""
    done: Mapping[str, Receipt]
    """Receipts of shards that are done, by path."""

    @cached_property
    def extra(self) -> ExtraOutputs:
        """Outputs that the plan does not have."""
        return extra_outputs(self.files, self.plan, self.stored)

    def refuse_replacement(self, *, rescore: bool = False, allow_stale: bool = False) -> None:
        """Refuse a run that would lose rows or labels by accident.

        Args:
            rescore: permits other labels, fewer rows, and another division into row ranges.
            allow_stale: permits outputs without an input in the plan.

        Raises:
            OutputError: something would be lost.
            DeviceError: some shards are done and were scored on another device or runtime.
        """
        permissions: dict[str, str] = {}  # to lose outputs, by a description of them
        plan, location = self.plan, self.folder.location
        if self.extra.stale and not allow_stale:
            stale = self.extra.stale
            outputs = f"{count_of(len(stale), 'output')} whose input is not among IN ({named(stale)})"
            permissions[outputs] = "--allow-stale keeps outputs without an input, which readers then skip"
        if self.extra.divided and not rescore:
            divided = self.extra.divided
            outputs = f"{count_of(len(divided), 'output')} written with another --split-rows ({named(divided)})"
            permissions[outputs] = "use the earlier --split-rows, or --rescore to replace them"
        if not rescore and (shorter := self._shorter()):
            outputs = f"{count_of(len(shorter), 'output')} with more rows than would replace them ({shorter[0]})"
            permissions[outputs] = "--rescore replaces them"
        if blocked := self._blocked():
            raise OutputError(
                f"{location} has {named(blocked)}, which no run recorded, where outputs would be written; nothing was "
                "written: remove it, or choose another --out"
            )
        if permissions:
            advice = "; ".join(permissions.values()) if plan.limit is None else "leave --limit out"
            raise OutputError(
                f"{location} has {' and '.join(permissions)}; nothing was written: {advice}; or choose another --out"
            )
        if rescore:
            return
        if labels_differ := self._other_labels():
            raise OutputError(
                f"{location} has labels of another signature ({', '.join(labels_differ)}); nothing was written: pass "
                "--rescore to replace them, or choose another --out"
            )
        stored, is_part = self.stored, 0 < len(self.todo) < self.shards
        if stored is None or not is_part or Signature.of(stored) != Signature.of(plan):
            return
        if changes := stored.hardware_changes(plan):
            raise DeviceError(
                f"{location} has shards scored on a different device or runtime ({changes}). Resume there, pass "
                "--rescore to rescore all shards here, or use a new --out with --reuse."
            )

    def _blocked(self) -> list[str]:
        """Files in place of a folder of an output that would be written, or in a folder in place of the output."""
        outputs = {shard.relative for shard in self.todo}
        folders = {folder for relative in outputs for folder in _folders(relative)}
        foreign = {name for name in self.files.keys() - self.extra.divided if not TEMPORARY.fullmatch(name)}
        return sorted(name for name in foreign if name in folders or not outputs.isdisjoint(_folders(name)))

    def _shorter(self) -> list[str]:
        """The outputs that would be replaced by fewer rows, with both numbers; all row ranges of an input are one."""
        before, after = Counter[str](), Counter[str]()
        for shard in self.todo:
            name = _input_of(shard.relative, shard.groups)
            after[name] += shard.rows
            before[name] += self._rows_before(shard.relative)
        return [f"{name}: {rows:,} rows, now {after[name]:,}" for name, rows in before.items() if rows > after[name]]

    def _rows_before(self, relative: str) -> int:
        """Rows of an earlier output; a quarantined one has no receipt."""
        receipt = self.receipts.get(relative)
        if relative not in self.files or isinstance(receipt, Receipt):
            return receipt.output.rows if isinstance(receipt, Receipt) and relative in self.files else 0
        import pyarrow as pa
        import pyarrow.parquet as pq

        with suppress(OSError, pa.ArrowException), self.folder.store.open(relative) as file:
            return int(pq.read_metadata(file).num_rows)
        return 0

    def _other_labels(self) -> list[str]:
        """Changes of the signature of labels that would be replaced; empty where no label would be."""
        signature = Signature.of(self.plan)
        for shard in self.todo:
            receipt = self.receipts.get(shard.relative)
            if not isinstance(receipt, Receipt):
                continue
            changed = Signature.of(receipt.fingerprint).changes_to(signature)
            if changed and self.folder.is_intact(receipt, self.files.get(shard.relative)):
                return [str(_with_names(change, self.stored, self.plan)) for change in changed]
        return []


def _with_names(change: ValueChange, stored: Plan | None, plan: Plan) -> ValueChange:
    """A change of a signature, with the names of template files in place of their digests."""
    before, after = (scored.settings.get("templates") if scored is not None else None for scored in (stored, plan))
    if change.key != "templates" or before == after:
        return change
    return ValueChange("templates", *("none" if file is None else PurePath(str(file)).name for file in (before, after)))


def _folders(relative: str) -> list[str]:
    """The folders above a file."""
    return list(accumulate(relative.split("/")[:-1], "{}/{}".format))


def _input_of(relative: str, groups: tuple[int, int] | None) -> str:
    """Relative path in common of the outputs of one input: the folder of its row ranges, or the output itself."""
    return relative if groups is None else relative.rpartition("/")[0]
