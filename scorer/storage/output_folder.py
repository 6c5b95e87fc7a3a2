"""The output folder of a run, written in this order: ``_plan.json``; of each shard the output, then its receipt;
``_run.json``; ``_SUCCESS`` last, only if every planned shard is done. A run that is killed at any point is resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import DamagedFileError, DeviceError, OutputError, count_of
from ..system.codec import decode, encode, seal, unseal, utc_now
from ..system.files import sha256_of
from ..system.waiting import map_in_threads
from .location import Location, named
from .lock import RunLock, take_lock
from .plan import OWN_NAMES, PLAN, RUN, SUCCESS, Plan
from .receipts import (
    FAILED,
    NO_RECEIPT,
    RECEIPTS,
    ROW_RANGE,
    FailedShard,
    Identity,
    Receipt,
    Signature,
    content_sha256,
    digest_of,
    is_output,
    receipt_name,
    relatives_of,
)
from .store import (
    TEMPORARY,
    FileInfo,
    Store,
    crash_point,
    make_folders,
    open_store,
    output_errors,
    refuse_links,
    require_space,
    temporary_name,
)

if TYPE_CHECKING:
    from .shards import Shard

_READERS = 16


class OutputFolder:
    """An output, to be read; a run writes to a :class:`.LockedOutput`. ``store``: of the location, if it is open."""

    def __init__(self, location: Location, *, patient: bool = True, store: Store | None = None) -> None:
        self.location = location
        self.store: Store = store or open_store(location, patient=patient)
        self._files: dict[str, FileInfo] = {}
        """As :meth:`unfinished` found them, or :meth:`LockedOutput.publish` wrote them."""
        self._receipts: dict[str, Receipt | str] = {}
        self._done: dict[str, Receipt] = {}

    def read_plan(self, say: Callable[[str], None] | None = None) -> Plan | None:
        """The stored plan; ``None`` if there is none. ``say``: is told of a damaged one, which then counts as none.

        Raises:
            SchemaError: another version of this program wrote it. DamagedFileError: without ``say``.
        """
        content = self.store.read(PLAN)
        try:
            return None if content is None else decode(content, Plan, f"{self.location}/{PLAN}")
        except DamagedFileError as error:
            if say is None:
                raise
            say(str(error))
            return None

    def receipt(self, relative: str) -> Receipt | str:
        """The receipt of a shard, or why there is none that can be used; a :class:`.SchemaError` if another version of
        this program wrote it."""
        if (content := self.store.read(receipt_name(relative))) is None:
            return NO_RECEIPT
        try:
            found = unseal(content, Receipt, "its receipt", advice="")
        except DamagedFileError as error:
            return str(error)
        return found if found.relative == relative else "its receipt is that of another output"

    def receipts(self, relatives: Iterable[str] | None = None) -> dict[str, Receipt | str]:
        """The receipts of some shards, by default of all that have one; see :meth:`receipt`."""
        chosen = relatives_of(self.store.list(RECEIPTS), RECEIPTS) if relatives is None else list(relatives)
        read = map_in_threads(self.receipt, chosen, _READERS) if self.store.is_remote else map(self.receipt, chosen)
        return dict(zip(chosen, read, strict=True))

    def is_intact(self, receipt: Receipt, info: FileInfo | None) -> bool:
        """Whether a receipt's output is the file that the receipt describes: by the version that an object store gave
        it, otherwise by its SHA-256. ``info``: of the output; ``None`` if it does not exist."""
        output = receipt.output
        if info is None or info.size != output.bytes:
            return False
        if output.e_tag:
            return info.version == output.e_tag
        with suppress(OSError, OutputError), self.store.open(receipt.relative, info.version) as file:
            return sha256_of(file) == output.sha256
        return False

    def extra_outputs(
        self, files: Mapping[str, FileInfo], stored: Plan | None, plan: Plan
    ) -> tuple[list[str], list[str]]:
        """Outputs that are not in a plan, sorted, each list: those of an input that the plan divides in another way,
        and stale ones, whose input is not in the plan. An output is in the ``stored`` plan, or has a record."""
        before = {} if stored is None else stored.inputs
        known = {*before, *relatives_of(files, RECEIPTS), *relatives_of(files, FAILED)} - plan.inputs.keys()
        planned = {_input_of(name, record.groups) for name, record in plan.inputs.items()}
        there = [one for one in sorted(filter(is_output, known)) if {one, receipt_name(one)} & files.keys()]
        divided = [one for one in there if ROW_RANGE.sub("", one) in planned]
        return divided, sorted({*there} - {*divided})

    def unfinished(self, shards: Sequence[Shard], plan: Plan, *, rescore: bool = False) -> dict[Shard, str]:
        """The shards to score, with the reason. The outputs of the others are hashed here, once in a run. ``rescore``:
        also those that were scored on another device or runtime."""
        self._files = self.store.list()
        self._receipts = self.receipts(one.relative for one in shards if receipt_name(one.relative) in self._files)
        todo: dict[Shard, str] = {}
        for shard in shards:
            receipt = self._receipts.get(shard.relative, NO_RECEIPT)
            reason = self._why_unfinished(shard, plan, receipt, self._files)
            if reason is None and rescore:
                made = self._done[shard.relative].provenance
                if (made.worker, made.origin.get("runtime")) != (plan.device, plan.runtime):
                    reason = f"it was scored elsewhere ({made.worker})"
            if reason is not None:
                todo[shard] = reason
        return todo

    def _why_unfinished(
        self, shard: Shard, plan: Plan, receipt: Receipt | str, files: Mapping[str, FileInfo]
    ) -> str | None:
        """Why a shard is not done; ``None`` if it is. An input is the same while its size and footer are, and its time
        and version or its content."""
        if isinstance(receipt, str):
            return receipt
        wanted, found = plan.fingerprint(shard), receipt.input
        if receipt.fingerprint != wanted:
            return "; ".join(receipt.fingerprint.differences(wanted))
        if found.identity != shard.identity:
            names = sorted(Identity.__struct_fields__)
            changed = [one for one in names if getattr(found.identity, one, None) != getattr(shard.identity, one)]
            was = found.content_sha256 if changed == ["mtime_ns"] else None
            if was is None or content_sha256(shard.file.uri, shard.identity) != was:
                return f"its input changed: {', '.join(changed)}"
        counted = receipt.counts.rows.all == receipt.output.rows
        if not counted or not self.is_intact(receipt, files.get(shard.relative)):
            return "its output is damaged"
        self._done[shard.relative] = receipt
        return None

    def refuse_replacement(
        self,
        stored: Plan | None,
        plan: Plan,
        shards: Collection[Shard],
        todo: Collection[Shard],
        *,
        rescore: bool = False,
        allow_stale: bool = False,
    ) -> None:
        """Refuse a run that would lose rows or labels by accident.

        Args:
            stored: the plan that is there. todo: the shards that :meth:`unfinished` found.
            rescore: permits other labels, fewer rows, and another division into row ranges.
            allow_stale: permits outputs whose input is not in the plan.

        Raises:
            OutputError: something would be lost.
            DeviceError: some shards are done and were scored on another device or runtime.
        """
        divided, stale = self.extra_outputs(self._files, stored, plan)
        found = {}  # what would be lost, and how to permit it
        if stale and not allow_stale:
            what = f"{count_of(len(stale), 'output')} whose input is not among IN ({named(stale)})"
            found[what] = "--allow-stale keeps outputs without an input, which readers then skip"
        if divided and not rescore:
            what = f"{count_of(len(divided), 'output')} written with another --split-rows ({named(divided)})"
            found[what] = "use the earlier --split-rows, or --rescore to replace them"
        if not rescore and (shorter := self._shorter(todo)):
            what = f"{count_of(len(shorter), 'output')} with more rows than would replace them ({shorter[0]})"
            found[what] = "--rescore replaces them"
        if found:
            ways = list(found.values()) if plan.limit is None else ["leave --limit out"]
            raise OutputError(
                f"{self.location} has {' and '.join(found)}; nothing was written: {'; '.join(ways)}; or choose "
                "another --out"
            )
        if rescore:
            return
        self._refuse_other_labels(stored, plan, todo)
        if stored is None or Signature.of(stored) != Signature.of(plan) or not 0 < len(todo) < len(shards):
            return
        if changes := stored.hardware_changes(plan):
            raise DeviceError(
                f"{self.location} has shards scored on a different device or runtime ({changes}). Resume there, pass "
                "--rescore to rescore all shards here, or use a new --out with --reuse."
            )

    def _shorter(self, todo: Iterable[Shard]) -> list[str]:
        """The outputs that would be replaced by fewer rows, with both numbers; all row ranges of an input are one."""
        before, after = Counter[str](), Counter[str]()
        for shard in todo:
            name, receipt = _input_of(shard.relative, shard.groups), self._receipts.get(shard.relative)
            after[name] += shard.rows
            if isinstance(receipt, Receipt) and shard.relative in self._files:
                before[name] += receipt.output.rows
            elif shard.relative in self._files:  # of a shard that was quarantined: its earlier output has no receipt
                import pyarrow as pa
                import pyarrow.parquet as pq

                with suppress(OSError, pa.ArrowException), self.store.open(shard.relative) as file:
                    before[name] += pq.read_metadata(file).num_rows
        return [f"{name}: {rows:,} rows, now {after[name]:,}" for name, rows in before.items() if rows > after[name]]

    def _refuse_other_labels(self, stored: Plan | None, plan: Plan, todo: Iterable[Shard]) -> None:
        """Refuse to replace labels because the bundle, the templates or an option changed."""
        wanted = Signature.of(plan)
        for shard in todo:
            receipt = self._receipts.get(shard.relative, NO_RECEIPT)
            if isinstance(receipt, str):
                continue
            changed = Signature.of(receipt.fingerprint).changes_to(wanted)
            if changed and self.is_intact(receipt, self._files.get(shard.relative)):
                shown = ", ".join(_with_names(one, stored, plan) for one in changed)
                raise OutputError(
                    f"{self.location} has labels of another signature ({shown}); nothing was written: "
                    "pass --rescore to replace them, or choose another --out"
                )


def _with_names(change: str, stored: Plan | None, plan: Plan) -> str:
    """A change of a signature, with the names of template files in place of their digests."""
    given = [one.settings.get("templates") if one is not None else None for one in (stored, plan)]
    if not change.startswith("templates: ") or given[0] == given[1]:
        return change
    return "templates: " + " → ".join("none" if one is None else PurePath(str(one)).name for one in given)


def _input_of(relative: str, groups: tuple[int, int] | None) -> str:
    """Relative path that the outputs of one input share: the folder of its row ranges, or the output itself."""
    return relative if groups is None else relative.rpartition("/")[0]


@dataclass(frozen=True)
class Totals:
    """The planned shards at the end of a run. ``receipts``: of those done; ``failed``: quarantined ones; ``missing``:
    those whose output or receipt disappeared; ``stale``: outputs without an input. Relative paths."""

    receipts: list[Receipt] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


@contextmanager
def lock_output(location: Location, say: Callable[[str], None] = lambda message: None) -> Iterator[LockedOutput]:
    """Lock an output, which is created if it does not exist. Temporary files of killed runs are removed before and
    afterwards, and a folder that was created for a run that did not begin. ``say``: told of a wait.

    Raises:
        OutputError: another run has it, it is not an output or is inside another one, or it cannot be written.
    """
    _refuse_foreign(OutputFolder(location, patient=False))
    created: list[Path] = []
    if isinstance(location, Path):
        with output_errors("create", location):
            created = make_folders(location)
    store = open_store(location)
    try:
        with take_lock(store, say) as held, ExitStack() as stack:
            staging = stack.enter_context(TemporaryDirectory(prefix="d2t-")) if store.is_remote else ""
            output = LockedOutput(location, store, held, staging)
            stack.callback(output.sweep)
            output.sweep()
            yield output
    finally:
        with suppress(OSError):  # it is not empty: the run has begun
            for folder in reversed(created):
                folder.rmdir()


class LockedOutput(OutputFolder):
    """An output while this process holds its lock; made by :func:`lock_output`."""

    def __init__(self, location: Location, store: Store, lock: RunLock, staging: str) -> None:
        super().__init__(location, store=store)
        self._lock, self._staging = lock, staging
        self._is_finished = True

    def begin(self, plan: Plan, todo: Collection[Shard]) -> list[str]:
        """Store the plan. From here on the output is not finished, if anything changes; the receipts of the shards that
        will be scored go, and the outputs of inputs that are divided otherwise now, whose paths are returned."""
        self._lock.check()
        if isinstance(self.location, Path):
            needed = sum(shard.min_output_bytes for shard in todo)
            require_space(self.location, needed, f"the output of {count_of(len(todo), 'shard')}")
        stored = self.read_plan(lambda message: None)
        divided, _ = self.extra_outputs(self._files, stored, plan)
        if todo or divided or stored != plan:
            self._reopen()
        for relative in divided:  # the receipt first: a run that is killed leaves no receipt without its file
            self.store.delete([receipt_name(relative)])
            self.store.delete([relative, receipt_name(relative, FAILED)])
        if stored != plan:
            self.store.write(PLAN, encode(plan, indent=1))
        names = [receipt_name(shard.relative) for shard in todo]
        for relative in relatives_of(self._files, FAILED):  # of inputs that are gone, and never had an output
            if relative not in plan.inputs and not {relative, receipt_name(relative)} & self._files.keys():
                names.append(receipt_name(relative, FAILED))
        self.store.delete([name for name in names if name in self._files])
        return divided

    def temporary(self, relative: str) -> Path:
        """A new path for a worker to write an output to: in the folder of its final name, or for a store in another."""
        if not isinstance(self.location, Path):
            return Path(self._staging, temporary_name())
        target = self.location.absolute() / relative
        refuse_links(self.location.absolute(), target)
        with output_errors("create", target.parent):
            make_folders(target.parent)
        return target.with_name(temporary_name())

    def publish(self, temporary: Path | None, receipt: Receipt) -> Receipt:
        """Give a shard's output its name, then write its receipt, which is returned. Threads may share this.
        ``temporary``: the complete file; ``None``: the worker has uploaded it, in the version of the receipt."""
        self._lock.check()
        relative, written = receipt.relative, FileInfo(receipt.output.bytes, receipt.output.e_tag, 0)
        if temporary is not None:
            written = self.store.publish(temporary, relative)
            if self.store.is_remote:
                receipt = replace(receipt, output=replace(receipt.output, e_tag=written.version))
            self._lock.check()
        receipt = replace(receipt, created=utc_now())
        version = self.store.write(receipt_name(relative), seal(receipt))
        if receipt_name(relative, FAILED) in self._files:
            self.store.delete([receipt_name(relative, FAILED)])
        self._files |= {relative: written, receipt_name(relative): FileInfo(0, version or "", 0)}
        self._done[relative] = receipt
        return receipt

    def quarantine(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Store why a shard was not scored, and delete its receipt. An earlier output file is kept."""
        self._lock.check()
        self._reopen()
        self.store.delete([receipt_name(relative)])
        record = FailedShard(relative=relative, kind=kind, message=message, identity=identity, created=utc_now())
        self.store.write(receipt_name(relative, FAILED), encode(record, indent=1))

    def totals(self, plan: Plan, shards: Sequence[Shard]) -> Totals:
        """All planned shards as they are now. Outputs and receipts that were replaced since this process hashed or
        wrote them are checked again. ``shards``: those that could be read; other inputs of the plan are quarantined."""
        files = self.store.list()
        totals = Totals(stale=self.extra_outputs(files, None, plan)[1])
        by_name = {shard.relative: shard for shard in shards}
        seen = {name: info.version for name, info in self._files.items()}
        for relative in plan.inputs:
            shard, names = by_name.get(relative), (relative, receipt_name(relative))
            is_same = all(name in files and files[name].version == seen.get(name) for name in names)
            if not (is_same and relative in self._done) and (
                shard is None or self._why_unfinished(shard, plan, self.receipt(relative), files)
            ):
                (totals.failed if receipt_name(relative, FAILED) in files else totals.missing).append(relative)
            else:
                totals.receipts.append(self._done[relative])
        return totals

    def finish(self, plan: Plan, run_json: bytes, totals: Totals) -> None:
        """Write ``_run.json``, then ``_SUCCESS`` if every planned shard is done; an :class:`.OutputError` if another
        run replaced the plan."""
        self._lock.check()
        stored = self.read_plan(lambda message: None)
        if stored is None:
            self.store.write(PLAN, encode(plan, indent=1))
        elif stored != plan:
            raise OutputError(f"Another run replaced {PLAN} in {self.location}. Stop the other run, then run again.")
        is_complete = not totals.failed and not totals.missing
        if not is_complete:
            self._reopen()
        self.store.write(RUN, run_json)
        if is_complete:
            self.store.write(SUCCESS, digest_of(totals.receipts))

    def _reopen(self) -> None:
        """The output is not finished any more, and no totals claim it."""
        if self._is_finished:
            self.store.delete([SUCCESS, RUN])
            crash_point(PLAN, "success_removed")
            self._is_finished = False

    def sweep(self) -> None:
        """Remove temporary files, of this run or of a killed one."""
        if not self._staging and self._lock.may_publish:
            self.store.delete(filter(TEMPORARY.fullmatch, self.store.list()))


def _refuse_foreign(output: OutputFolder) -> None:
    """Refuse a location inside another output, which would take its files for its own, or with other files than those
    of an output. What begins with a dot is a file manager's or a version control's, and is ignored."""
    location, files = output.location, {} if output.store.read(PLAN) is not None else output.store.list()
    known = {name.partition("/")[0] for name in (*relatives_of(files, RECEIPTS), *relatives_of(files, FAILED))}
    tops = {name.partition("/")[0] for name in files} - OWN_NAMES - known
    if strange := sorted(name for name in tops if not name.startswith(".")):
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise OutputError(
            f"{location} is not an output folder of this program: it has no {PLAN}, but holds {strange[0]!r}"
            f"{more}; choose a new or empty place for --out"
        )
    above = list(location.absolute().parents) if isinstance(location, Path) else location.parents
    found = None
    for place in above:
        with suppress(OutputError):  # a policy of a store may allow requests below OUT alone
            if found is None and open_store(place, patient=False).read(PLAN) is not None:
                found = place
    if found is not None:
        raise OutputError(f"{location} is inside the output {found}; choose an --out outside of it")
