"""The output folder of a run: its lock, plan, receipts, totals and completion marker.

Order of writing: ``_plan.json``; then of each shard the output, then its receipt; ``_run.json``; ``_SUCCESS`` last, and
only if every planned shard is done. A run that is killed at any point is resumed by the same command.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from ..errors import DamagedFileError, OutputError
from ..system.codec import decode, encode, seal, unseal
from ..system.progress import sha256_of
from ..system.waiting import several
from . import refusals
from .location import Location
from .lock import FileLock, LockRecord, RunLock, lock_holder, take_lock
from .plan import PLAN, RUN, SUCCESS, Plan
from .receipts import (
    DAMAGED_OUTPUT,
    FAILED,
    NO_RECEIPT,
    RECEIPTS,
    FailedShard,
    Identity,
    Receipt,
    digest_of,
    failed_name,
    is_output,
    receipt_name,
    relatives_of,
    utc_now,
    why_outdated,
)
from .store import (
    FileInfo,
    LocalStore,
    Store,
    crash_point,
    is_temporary,
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
Files = Mapping[str, FileInfo]


@dataclass(frozen=True)
class Totals:
    """The planned shards at the end of a run. ``receipts``: of those done; ``failed``: quarantined ones; ``missing``:
    those whose output or receipt disappeared; ``stale``: outputs without an input. Relative paths."""

    receipts: list[Receipt] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether every planned shard is done."""
        return not self.failed and not self.missing


class OutputFolder:
    """An output, to be read; a run writes to the :class:`LockedOutput` that :meth:`lock` gives it.

    Args:
        patient: retry requests to an object store for minutes instead of seconds.
        store: of the location, if it is open.
    """

    def __init__(self, location: Location, *, patient: bool = True, store: Store | None = None) -> None:
        self.location = location
        self.store: Store = store or open_store(location, patient=patient)
        self._files: Files = {}
        self._done: dict[str, tuple[Receipt, tuple[str, str]]] = {}

    @staticmethod
    @contextmanager
    def lock(location: Location, say: Callable[[str], None] = lambda message: None) -> Iterator[LockedOutput]:
        """Lock an output, which is created if it does not exist. Temporary files of killed runs are removed before and
        afterwards, and a folder that was created for a run that did not begin.

        Args:
            say: called with a message if this has to wait.

        Raises:
            OutputError: another run has it, it is not an output or is inside another one, or it cannot be written.
        """
        refusals.refuse_foreign(OutputFolder(location, patient=False))
        refusals.refuse_nested(location)
        created: list[Path] = []
        if isinstance(location, Path):
            with output_errors("create", location):
                created = make_folders(location)
        store = open_store(location)
        with take_lock(store, say) as held, LockedOutput(location, store, held) as output:
            try:
                refusals.refuse_foreign(output)  # another run may have had it until a moment ago
                yield output
            finally:
                if created and not output.has_begun and isinstance(held, FileLock):
                    held.remove()
                    with suppress(OSError):  # something else was written there
                        for folder in reversed(created):
                            folder.rmdir()

    def read(self, name: str) -> bytes | None:
        """Content of one of the output's own files; ``None`` if it does not exist."""
        return self.store.read(name)

    def open(self, relative: str) -> BinaryIO:
        """A shard's output; raises ``OSError`` if it does not exist."""
        return self.store.open(relative)

    def read_plan(self, say: Callable[[str], None] | None = None) -> Plan | None:
        """The stored plan; ``None`` if there is none.

        Args:
            say: called with the error of a damaged plan, which then counts as none.

        Raises:
            SchemaError: another version of this program wrote it. DamagedFileError: without ``say``.
        """
        content = self.store.read(PLAN)
        try:
            return None if content is None else Plan.decode(content, self.store.uri(PLAN))
        except DamagedFileError as error:
            if say is None:
                raise
            say(str(error))
            return None

    def receipt(self, relative: str) -> Receipt | str:
        """The receipt of a shard, or why there is none that can be used.

        Raises:
            SchemaError: another version of this program wrote it.
        """
        name = receipt_name(relative)
        content = self.store.read(name)
        if content is None:
            return NO_RECEIPT
        try:
            found = unseal(content, Receipt, self.store.uri(name), advice="")
        except DamagedFileError as error:
            return f"its receipt{str(error).removeprefix(self.store.uri(name))}"  # one reason for many shards
        return found if found.relative == relative else "its receipt is that of another output"

    def receipts(self, relatives: Iterable[str] | None = None) -> dict[str, Receipt | str]:
        """The receipts of some shards, by default of all that have one; see :meth:`receipt`."""
        chosen = relatives_of(self.store.list(RECEIPTS), RECEIPTS) if relatives is None else list(relatives)
        if self.store.is_remote:
            return dict(zip(chosen, several(self.receipt, chosen, _READERS), strict=True))
        return {relative: self.receipt(relative) for relative in chosen}

    def failed(self) -> dict[str, FailedShard]:
        """Quarantined shards by relative path; of a damaged record only the path is known."""
        found = {}
        for relative in relatives_of(self.store.list(FAILED), FAILED):
            name = failed_name(relative)
            try:
                found[relative] = decode(self.store.read(name) or b"", FailedShard, self.store.uri(name))
            except DamagedFileError:
                found[relative] = FailedShard(relative=relative, created="")
        return found

    def lock_holder(self) -> LockRecord | None:
        """The run that holds the output now, as far as one look tells."""
        return lock_holder(self.store)

    def why_unfinished(self) -> str | None:
        """Why not every planned shard is done; ``None`` if ``_SUCCESS`` agrees with the plan and all receipts."""
        success, plan = self.store.read(SUCCESS), self.read_plan(lambda message: None)
        if success is None:
            return f"it has no {SUCCESS}"
        if plan is None or not all(map(is_output, plan.inputs)):
            return f"its {PLAN} is damaged"
        receipts = self.receipts(plan.inputs)
        for relative, receipt in receipts.items():
            if isinstance(receipt, str):
                return f"{relative}: {receipt}"
        agrees = success == _success(one for one in receipts.values() if isinstance(one, Receipt))
        return None if agrees else f"its {SUCCESS} does not agree with its receipts"

    def is_intact(self, receipt: Receipt, info: FileInfo | None = None) -> bool:
        """Whether a receipt's output is the file that the receipt describes: by the version that an object store gave
        it, otherwise by its SHA-256.

        Args:
            info: of the output, if it is known.
        """
        output = receipt.output
        there = info or self.store.list(receipt.relative).get(receipt.relative)
        if there is None or there.size != output.bytes:
            return False
        if output.e_tag:
            return there.version == output.e_tag
        try:
            with self.store.open(receipt.relative, there.version) as file:
                return sha256_of(file) == output.sha256
        except (OSError, OutputError):
            return False

    def extra_outputs(self, files: Files, stored: Plan | None, plan: Plan) -> tuple[list[str], list[str]]:
        """Outputs that are not in a plan, sorted, each list: those of an input that the plan divides in another way,
        and stale ones, whose input is not in the plan.

        Args:
            files: of the output. A file is an output if it has a receipt or a quarantine record, or is in the
                ``stored`` plan.
        """
        before = {} if stored is None else stored.inputs
        known = {*before, *relatives_of(files, RECEIPTS), *relatives_of(files, FAILED)} - plan.inputs.keys()
        planned = {refusals.input_of(name, record.groups is not None) for name, record in plan.inputs.items()}
        divided: list[str] = []
        stale: list[str] = []
        for relative in sorted(filter(is_output, known)):
            has_file = relative in files or receipt_name(relative) in files
            if not has_file or not self._is_inside(relative):
                continue
            record = before.get(relative)
            if record is None and isinstance(receipt := self.receipt(relative), Receipt):
                record = receipt.input
            name = refusals.input_of(relative, record is not None and record.groups is not None)
            (divided if name in planned else stale).append(relative)
        return divided, stale

    def unfinished(self, shards: Sequence[Shard], plan: Plan, *, rescore: bool = False) -> dict[Shard, str]:
        """The shards to score, with the reason. The outputs of the others are hashed here, once in a run.

        Args:
            rescore: score shards again that were scored on another device or runtime.
        """
        self._files = self.store.list()
        receipts = self.receipts(one.relative for one in shards if receipt_name(one.relative) in self._files)
        todo: dict[Shard, str] = {}
        for shard in shards:
            reason = self._why_unfinished(shard, plan, receipts.get(shard.relative, NO_RECEIPT), self._files)
            if reason is None and rescore:
                reason = _scored_elsewhere(self._done[shard.relative][0], plan)
            if reason is not None:
                todo[shard] = reason
        return todo

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
        """Refuse a run that would lose rows or labels by accident; see :func:`.refusals.refuse_replacement`.

        Args:
            todo: see :meth:`unfinished`, which comes first.
        """
        refusals.refuse_replacement(
            self, self._files, stored, plan, shards, todo, rescore=rescore, allow_stale=allow_stale
        )

    def _why_unfinished(self, shard: Shard, plan: Plan, receipt: Receipt | str, files: Files) -> str | None:
        """Why a shard is not done; ``None`` if it is, and is remembered."""
        relative = shard.relative
        if isinstance(receipt, str):
            return receipt
        if reason := why_outdated(receipt, shard.identity, plan.fingerprint(shard), shard.uri):
            return reason
        if relative not in files or not self.is_intact(receipt, files[relative]):
            return DAMAGED_OUTPUT
        self._done[relative] = receipt, _versions(relative, files)
        return None

    def _is_inside(self, relative: str) -> bool:
        """Whether an output really lies in the folder; what a link leads to is not ours."""
        if not isinstance(self.location, Path):
            return True
        return (self.location / relative).parent.resolve().is_relative_to(self.location.resolve())


class LockedOutput(OutputFolder):
    """An output while this process holds its lock; made by :meth:`OutputFolder.lock`. A context, which removes
    temporary files at both ends.

    ``has_begun``: whether :meth:`begin` was called.
    """

    def __init__(self, location: Location, store: Store, lock: RunLock) -> None:
        super().__init__(location, store=store)
        self._lock = lock
        self.has_begun = False
        self._staging = TemporaryDirectory(prefix="d2t-") if store.is_remote else None
        self._quarantined: set[str] = set()
        self._is_finished = True
        self._guard = threading.Lock()

    def __enter__(self) -> LockedOutput:
        self._sweep()
        return self

    def __exit__(self, *error: object) -> None:
        if self._staging is not None:
            self._staging.cleanup()
        if self._lock.may_publish:
            self._sweep()

    def begin(self, plan: Plan, todo: Collection[Shard]) -> list[str]:
        """Store the plan. From here on the output is not finished, if anything changes; superseded files and the
        receipts of the shards that will be scored are removed.

        Args:
            todo: see :meth:`unfinished`, which comes first.

        Returns:
            Relative paths of the outputs that were removed, because their input is divided in another way now.
        """
        self._lock.check()
        if isinstance(self.location, Path):
            needed = sum(shard.min_output_bytes for shard in todo)
            require_space(self.location, needed, f"the output of {refusals.count(len(todo), 'shard')}")
        stored = self.read_plan(lambda message: None)
        divided, _ = self.extra_outputs(self._files, stored, plan)
        self.has_begun = True
        if todo or divided or stored != plan:
            self._reopen()
        for relative in divided:  # the receipt first: a run that is killed leaves no receipt without its file
            self.store.delete([receipt_name(relative)])
            crash_point("stale.receipt_removed")
            self.store.delete([relative, failed_name(relative)])
        if stored != plan:
            self.store.write(PLAN, plan.content)
        names = [receipt_name(shard.relative) for shard in todo]
        for relative in relatives_of(self._files, FAILED):  # of inputs that are gone, and never had an output
            if relative not in plan.inputs and not {relative, receipt_name(relative)} & self._files.keys():
                names.append(failed_name(relative))
        self.store.delete([name for name in names if name in self._files])
        return divided

    def temporary(self, relative: str) -> Path:
        """A new path for a worker to write an output to: in the folder of its final name, or in a local folder where
        the output is in a store."""
        if self._staging is not None:
            return Path(self._staging.name, temporary_name())
        target = Path(self.store.uri(relative))
        refuse_links(Path(self.store.uri("")), target)
        with output_errors("create", target.parent):
            make_folders(target.parent)
        return target.with_name(temporary_name())

    def publish(self, temporary: Path | None, receipt: Receipt) -> Receipt:
        """Give a shard's output its name, then write its receipt. Threads may call this at the same time.

        Args:
            temporary: the complete file; ``None``: the worker has uploaded it, in the version of the receipt.

        Returns:
            The receipt as it was written.

        Raises:
            OutputError: the lock was lost, or something cannot be written.
        """
        relative, version = receipt.relative, receipt.output.e_tag
        self._lock.check()
        if temporary is not None:
            version = self.store.publish(temporary, relative).version
            if self.store.is_remote:
                receipt = replace(receipt, output=replace(receipt.output, e_tag=version))
            self._lock.check()
        receipt = replace(receipt, created=utc_now())
        written = self.store.write(receipt_name(relative), seal(receipt))
        if failed_name(relative) in self._files:
            self.store.delete([failed_name(relative)])
        with self._guard:
            self._done[relative] = receipt, (version, written or "")
        return receipt

    def quarantine(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Store why a shard was not scored, and delete its receipt. An earlier output file is kept."""
        self._lock.check()
        self._reopen()
        self.store.delete([receipt_name(relative)])
        record = FailedShard(relative=relative, kind=kind, message=message, identity=identity)
        self.store.write(failed_name(relative), encode(record, indent=1))
        with self._guard:
            self._quarantined.add(relative)

    def totals(self, plan: Plan, shards: Sequence[Shard]) -> Totals:
        """All planned shards as they are now. Outputs and receipts that were replaced since this process hashed or
        wrote them are checked again.

        Args:
            shards: those that could be read; the other inputs of the plan are quarantined.
        """
        files = self.store.list()
        totals = Totals(stale=self.extra_outputs(files, None, plan)[1])
        by_name = {shard.relative: shard for shard in shards}
        for relative in plan.inputs:
            shard, done = by_name.get(relative), self._done.get(relative)
            if relative in self._quarantined:
                (totals.failed if failed_name(relative) in files else totals.missing).append(relative)
            elif done is not None and done[1] == _versions(relative, files):
                totals.receipts.append(done[0])
            elif shard and self._why_unfinished(shard, plan, self.receipt(relative), files) is None:
                totals.receipts.append(self._done[relative][0])
            else:
                totals.missing.append(relative)
        return totals

    def finish(self, plan: Plan, run_json: bytes, totals: Totals) -> None:
        """Write ``_run.json``, then ``_SUCCESS`` if every planned shard is done.

        Raises:
            OutputError: another run replaced the plan.
        """
        self._lock.check()
        stored = self.read_plan(lambda message: None)
        if stored is None:
            self.store.write(PLAN, plan.content)
        elif stored != plan:
            raise OutputError(f"Another run replaced {PLAN} in {self.location}. Stop the other run, then run again.")
        if not totals.is_complete:
            self._reopen()
        self.store.write(RUN, run_json)
        if totals.is_complete:
            self.store.write(SUCCESS, _success(totals.receipts))

    def _reopen(self) -> None:
        """The output is not finished any more, and no totals claim it."""
        with self._guard:
            if self._is_finished:
                self.store.delete([SUCCESS, RUN])
                crash_point("plan.success_removed")
                self._is_finished = False

    def _sweep(self) -> None:
        if isinstance(self.store, LocalStore):
            self.store.delete(filter(is_temporary, self.store.list()))


def _scored_elsewhere(receipt: Receipt, plan: Plan) -> str | None:
    provenance = receipt.provenance
    if (provenance.worker, provenance.origin.get("runtime")) == (plan.device, plan.runtime):
        return None
    return f"it was scored elsewhere ({provenance.worker})"


def _success(receipts: Iterable[Receipt]) -> bytes:
    return digest_of(receipts).encode("ascii")


def _versions(relative: str, files: Files) -> tuple[str, str]:
    """Versions of an output and its receipt."""
    one, other = (files[name].version if name in files else "" for name in (relative, receipt_name(relative)))
    return one, other
