"""An output, written: ``_plan.json``; of each shard the output, then its receipt; ``_run.json``; ``_SUCCESS`` last,
only if every planned shard is done. A run that is killed at any point is resumed.

The types are the order of calls: :func:`lock_output` gives a :class:`LockedOutput`, which compares and begins;
:meth:`LockedOutput.begin` gives an :class:`OutputWriter`, which publishes, quarantines and finishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from ..errors import OutputError, count_of
from ..system.codec import encode, seal, utc_now
from .local_files import (
    TEMPORARY,
    FileInfo,
    crash_point,
    make_folders,
    output_errors,
    refuse_links,
    require_space,
    temporary_name,
)
from .location import Location
from .lock import RunLock, take_lock
from .output_folder import OutputFolder, OutputState, extra_outputs
from .receipts import (
    FAILED,
    RECEIPTS,
    FailedShard,
    Identity,
    Receipt,
    Shard,
    Unusable,
    digest_of,
    receipt_name,
    relatives_of,
)
from .run_plan import OWN_NAMES, PLAN, RUN, SUCCESS
from .store import Store, open_store


@dataclass(frozen=True)
class Totals:
    """The planned shards at the end of a run."""

    receipts: list[Receipt] = field(default_factory=list)
    """Receipts of shards that are done."""
    failed: list[str] = field(default_factory=list)
    """Relative paths of quarantined shards."""
    missing: list[str] = field(default_factory=list)
    """Relative paths of shards without their output or receipt, which disappeared."""
    stale: list[str] = field(default_factory=list)
    """Relative paths of outputs without an input."""


@contextmanager
def lock_output(location: Location, say: Callable[[str], None] = lambda message: None) -> Iterator[LockedOutput]:
    """Lock an output, which is created if it does not exist. Temporary files of killed runs are removed before and
    afterwards, and a folder that was created for a run that did not begin.

    Args:
        location: location of the output.
        say: called with a line before a wait.

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
        with take_lock(store, say) as lock, ExitStack() as stack:
            staging = stack.enter_context(TemporaryDirectory(prefix="d2t-")) if store.is_remote else ""
            output = LockedOutput(location, store, lock, staging)
            stack.callback(output.sweep)
            output.sweep()
            yield output
    finally:
        with suppress(OSError):  # it is not empty: the run has begun
            for folder in reversed(created):
                folder.rmdir()


class LockedOutput(OutputFolder):
    """An output while this process holds its lock. ``staging``: local folder for outputs of a store."""

    def __init__(self, location: Location, store: Store, lock: RunLock, staging: str) -> None:
        super().__init__(location, store=store)
        self.lock, self.staging = lock, staging

    def begin(self, state: OutputState) -> OutputWriter:
        """Store the plan, delete the receipts of shards to score, and delete outputs of inputs that are divided in
        another way now. If anything changes, the output is not finished any more."""
        self.lock.check()
        plan, todo, divided, files = state.plan, state.todo, state.extra.divided, state.files
        if isinstance(self.location, Path):
            needed = sum(shard.min_output_bytes for shard in todo)
            require_space(self.location, needed, f"the output of {count_of(len(todo), 'shard')}")
        writer, stored = OutputWriter(self, state), self.read_plan(lambda message: None)
        if todo or divided or stored != plan:
            writer.reopen()
        for relative in divided:  # the receipt first: a run that is killed leaves no receipt without its file
            self.store.delete([receipt_name(relative)])
            self.store.delete([relative, receipt_name(relative, FAILED)])
        if stored != plan:
            self.store.write(PLAN, encode(plan, indent=1))
        names = [receipt_name(shard.relative) for shard in todo]
        for relative in relatives_of(files, FAILED):  # records of inputs that are gone, and never had an output
            if relative not in plan.inputs and not {relative, receipt_name(relative)} & files.keys():
                names.append(receipt_name(relative, FAILED))
        self.store.delete([name for name in names if name in files])
        return writer

    def sweep(self) -> None:
        """Remove temporary files, of this run or of a killed one."""
        if not self.staging and self.lock.may_publish:
            self.store.delete(filter(TEMPORARY.fullmatch, self.store.list()))


class OutputWriter:
    """The output of a run that has begun (:meth:`LockedOutput.begin`). Threads may share :meth:`publish`."""

    def __init__(self, output: LockedOutput, state: OutputState) -> None:
        self._output, self._plan, self._earlier_files = output, state.plan, state.files
        self._versions = {name: info.version for name, info in state.files.items()}
        self._done, self._is_finished = dict(state.done), True

    def temporary(self, relative: str) -> Path:
        """A new path for a worker to write an output to: in the folder of its final name, or in a local one if the
        worker puts it into a store."""
        self._output.lock.check()
        location = self._output.location
        if not isinstance(location, Path):
            return Path(self._output.staging, temporary_name())
        target = location.absolute() / relative
        refuse_links(location.absolute(), target)
        with output_errors("create", target.parent):
            make_folders(target.parent)
        return target.with_name(temporary_name())

    def publish(self, temporary: Path | None, receipt: Receipt) -> Receipt:
        """Give the output of a shard its name in a folder, then write its receipt.

        Args:
            temporary: path of the complete file; ``None`` if the worker has put it into the store (:func:`upload`).
            receipt: its receipt.

        Returns:
            The receipt as it was written.
        """
        lock, store, relative = self._output.lock, self._output.store, receipt.relative
        lock.check()
        output_file = FileInfo(receipt.output.bytes, receipt.output.e_tag, 0)
        if temporary is not None:
            output_file = store.publish(temporary, relative)
            lock.check()
        receipt = replace(receipt, created=utc_now())
        version = store.write(receipt_name(relative), seal(receipt))
        if receipt_name(relative, FAILED) in self._earlier_files:
            store.delete([receipt_name(relative, FAILED)])
        self._versions |= {relative: output_file.version, receipt_name(relative): version or ""}
        self._done[relative] = receipt
        return receipt

    def quarantine(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Record why a shard was not scored, and delete its receipt. An earlier output file is kept."""
        self._output.lock.check()
        self.reopen()
        self._output.store.delete([receipt_name(relative)])
        record = FailedShard(relative=relative, kind=kind, message=message, identity=identity, created=utc_now())
        self._output.store.write(receipt_name(relative, FAILED), encode(record, indent=1))

    def totals(self, shards: Sequence[Shard]) -> Totals:
        """The state of all planned shards. Outputs and receipts that were replaced since this process hashed or wrote
        them are checked again.

        Args:
            shards: shards that could be read; the other inputs of the plan are quarantined.
        """
        output, plan, files = self._output, self._plan, self._output.store.list()
        totals, by_name = Totals(stale=extra_outputs(files, plan).stale), {shard.relative: shard for shard in shards}
        for relative in plan.inputs:
            shard, names = by_name.get(relative), (relative, receipt_name(relative))
            is_same = all(name in files and files[name].version == self._versions.get(name) for name in names)
            receipt: Receipt | Unusable | None = self._done.get(relative) if is_same else None
            if receipt is None and shard is not None:
                receipt = output.receipt_if_done(shard, plan, output.receipt(relative), files.get(relative))
            if isinstance(receipt, Receipt):
                totals.receipts.append(receipt)
            else:
                (totals.failed if receipt_name(relative, FAILED) in files else totals.missing).append(relative)
        return totals

    def finish(self, run_json: bytes, totals: Totals) -> None:
        """Write ``_run.json``, then ``_SUCCESS`` if every planned shard is done; an :class:`.OutputError` if another
        run replaced the plan."""
        output, store = self._output, self._output.store
        output.lock.check()
        stored = output.read_plan(lambda message: None)
        if stored is None:
            store.write(PLAN, encode(self._plan, indent=1))
        elif stored != self._plan:
            raise OutputError(f"Another run replaced {PLAN} in {output.location}. Stop the other run, then run again.")
        is_complete = not totals.failed and not totals.missing
        if not is_complete:
            self.reopen()
        store.write(RUN, run_json)
        if is_complete:
            store.write(SUCCESS, digest_of(totals.receipts))

    def reopen(self) -> None:
        """Delete ``_SUCCESS`` and the totals: the output is not finished any more."""
        if self._is_finished:
            self._output.store.delete([SUCCESS, RUN])
            crash_point(PLAN, "success_removed")
            self._is_finished = False


def upload(store: Store, temporary: Path, receipt: Receipt) -> Receipt:
    """Put the output of a shard, a complete local file, into its object store. The worker that wrote the file calls
    this, and the driver publishes the receipt.

    Returns:
        The receipt with the version in the store.
    """
    version = store.publish(temporary, receipt.relative).version
    return replace(receipt, output=replace(receipt.output, e_tag=version))


def _refuse_foreign(output: OutputFolder) -> None:
    """Refuse a location inside another output, which would take its files for its own, or with other files than those
    of an output. Names that begin with a dot belong to a file manager or a version control, and are ignored."""
    location, files = output.location, {} if output.store.read(PLAN) is not None else output.store.list()
    recorded = {name.partition("/")[0] for name in (*relatives_of(files, RECEIPTS), *relatives_of(files, FAILED))}
    tops = {name.partition("/")[0] for name in files} - OWN_NAMES - recorded
    if foreign := sorted(name for name in tops if not name.startswith(".")):
        further = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise OutputError(
            f"{location} is not an output folder of this program: it has no {PLAN}, but holds {foreign[0]!r}"
            f"{further}; choose a new or empty place for --out"
        )
    above = list(location.absolute().parents) if isinstance(location, Path) else location.parents
    outer = None
    for parent in above:
        with suppress(OutputError):  # a policy of a store may allow requests below OUT alone
            if outer is None and open_store(parent, patient=False).read(PLAN) is not None:
                outer = parent
    if outer is not None:
        raise OutputError(f"{location} is inside the output {outer}; choose an --out outside of it")
