"""The output of a run while the run holds its lock.

Order of writing: ``_plan.json``; then of each shard the output, then its receipt; ``_run.json``; ``_SUCCESS`` last, and
only if every planned shard is done. A run that is killed at any point is resumed by the same command.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import OutputError, count_of
from ..system.codec import encode, seal, utc_now
from .location import Location, StoreUri
from .lock import FileLock, RunLock, take_lock
from .output_folder import OutputFolder, versions_of
from .plan import OWN_NAMES, PLAN, RUN, SUCCESS, Plan
from .receipts import (
    FAILED,
    RECEIPTS,
    FailedShard,
    Identity,
    Receipt,
    digest_of,
    receipt_name,
    relatives_of,
)
from .store import (
    TEMPORARY,
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
    afterwards, and a folder that was created for a run that did not begin.

    Args:
        say: called with a message if this has to wait.

    Raises:
        OutputError: another run has it, it is not an output or is inside another one, or it cannot be written.
    """
    _refuse_foreign(OutputFolder(location, patient=False))
    _refuse_nested(location)
    created: list[Path] = []
    if isinstance(location, Path):
        with output_errors("create", location):
            created = make_folders(location)
    store = open_store(location)
    with take_lock(store, say) as held, ExitStack() as stack:
        staging = stack.enter_context(TemporaryDirectory(prefix="d2t-")) if store.is_remote else None
        output = LockedOutput(location, store, held, staging)
        try:
            output.sweep()
            _refuse_foreign(output)  # another run may have had it until a moment ago
            yield output
        finally:
            output.sweep()
            if created and not output.has_begun and isinstance(held, FileLock):
                held.remove()
                with suppress(OSError):  # something else was written there
                    for folder in reversed(created):
                        folder.rmdir()


class LockedOutput(OutputFolder):
    """An output while this process holds its lock; made by :func:`lock_output`.

    ``has_begun``: whether :meth:`begin` was called.
    """

    def __init__(self, location: Location, store: Store, lock: RunLock, staging: str | None) -> None:
        super().__init__(location, store=store)
        self._lock, self._staging = lock, staging
        self.has_begun = False
        self._quarantined: set[str] = set()
        self._is_finished = True
        self._guard = threading.Lock()

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
            require_space(self.location, needed, f"the output of {count_of(len(todo), 'shard')}")
        stored = self.read_plan(lambda message: None)
        divided, _ = self.extra_outputs(self._files, stored, plan)
        self.has_begun = True
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
        """A new path for a worker to write an output to: in the folder of its final name, or in a local folder where
        the output is in a store."""
        if self._staging is not None:
            return Path(self._staging, temporary_name())
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
        if receipt_name(relative, FAILED) in self._files:
            self.store.delete([receipt_name(relative, FAILED)])
        with self._guard:
            self._done[relative] = receipt, (version, written or "")
        return receipt

    def quarantine(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Store why a shard was not scored, and delete its receipt. An earlier output file is kept."""
        self._lock.check()
        self._reopen()
        self.store.delete([receipt_name(relative)])
        record = FailedShard(relative=relative, kind=kind, message=message, identity=identity, created=utc_now())
        self.store.write(receipt_name(relative, FAILED), encode(record, indent=1))
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
                (totals.failed if receipt_name(relative, FAILED) in files else totals.missing).append(relative)
            elif done is not None and done[1] == versions_of(relative, files):
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
        with self._guard:
            if self._is_finished:
                self.store.delete([SUCCESS, RUN])
                crash_point(PLAN, "success_removed")
                self._is_finished = False

    def sweep(self) -> None:
        """Remove temporary files, of this run or of a killed one."""
        if self._staging is None and self._lock.may_publish:
            self.store.delete(filter(TEMPORARY.fullmatch, self.store.list()))


def _refuse_foreign(output: OutputFolder) -> None:
    """Refuse a location that is not, and cannot become, an output.

    An output has a plan, or otherwise only shards that have a receipt or a quarantine record. What begins with a dot is
    a file manager's or a version control's, and is ignored.
    """
    if output.store.read(PLAN) is not None:
        return
    files = output.store.list()
    known = {name.partition("/")[0] for name in (*relatives_of(files, RECEIPTS), *relatives_of(files, FAILED))}
    tops = {name.partition("/")[0] for name in files} - OWN_NAMES - known
    if strange := sorted(name for name in tops if not name.startswith(".")):
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise OutputError(
            f"{output.location} is not an output folder of this program: it has no {PLAN}, but holds {strange[0]!r}"
            f"{more}; choose a new or empty place for --out"
        )


def _refuse_nested(location: Location) -> None:
    """Refuse a location inside another output, which would take its files for its own."""
    found: Location | None = None
    if isinstance(location, Path):
        above = location.absolute().parents
        found = next((path for path in above if (path / PLAN).is_file() or (path / RECEIPTS).is_dir()), None)
    elif location.path:
        parts = location.path.split("/")
        places = [StoreUri(location.scheme, location.bucket, "/".join(parts[:i])) for i in range(len(parts))]
        found = next(filter(_has_plan, places), None)
    if found is not None:
        raise OutputError(f"{location} is inside the output {found}; choose an --out outside of it")


def _has_plan(place: StoreUri) -> bool:
    with suppress(OutputError):  # a policy may allow requests below OUT alone
        return open_store(place, patient=False).read(PLAN) is not None
    return False
