"""One run's output: whose it is, who holds it, what it is meant to become, when it is finished.

``_lock`` carries the lease (:mod:`.lease`), ``_plan.json`` makes the place ours, ``_run.json``
tells how the last run went, and ``_SUCCESS`` is there only while every planned shard is done. All of it is written over
a :class:`.store.Store`; what only a folder has (links, temporary files, empty folders) is in :mod:`.folder_care`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal, Self

from ..errors import OutputError
from ..system.closing import Closing
from . import folder_care, lease
from .durable import Holder, crash_point, make_folders, output_errors, require_space
from .finished import FAILED, PLAN, RECEIPTS, RUN, SUCCESS, is_output, planned_inputs
from .folder import FolderStore
from .location import Location
from .lock_files import Activity, Worker
from .objects.store import PROBE, BucketStore
from .receipts_old import Receipt, Receipts, digest_of, failed_name, receipt_name
from .store_old import ABSENT, ANY, Entry, Store

Found = Literal["absent", "empty", "ours"]
_OWN = {RUN, SUCCESS, RECEIPTS, FAILED}


@dataclass(frozen=True)
class OutputFile:
    """One version of a shard's output."""

    store: Store
    relative: str
    entry: Entry

    @property
    def name(self) -> str:
        return self.store.uri(self.relative)

    @property
    def is_remote(self) -> bool:
        """Whether reading can fail although the file is as its receipt says."""
        return self.store.is_remote

    def open(self) -> BinaryIO:
        """The file, to be closed by the caller.

        Raises:
            OutputError: another version is there. OSError: it cannot be read.
        """
        return self.store.open(self.relative, self.entry)


def open_store(out: Location, *, patient: bool = True) -> FolderStore | BucketStore:
    """The store of an output, to be read.

    Raises:
        OutputError: the store cannot be used.
        MissingDependencyError: ``obstore`` is not installed.
    """
    return FolderStore(out) if isinstance(out, Path) else BucketStore(out, patient=patient)


def inspect_output(out: Location) -> Found:
    """What stands where the output is to go; writes nothing.

    ``ours`` is also what has no plan, if a receipt in it is whole, and all in it are shards with a receipt or a note.
    ``empty`` is also a place at which a run ended before its plan was written.

    Raises:
        UsageError: the path is a URI of an unknown kind.
        OutputError: a file, a place with something else in it, or one that cannot be written.
    """
    if isinstance(out, Path) and not folder_care.is_there(out):
        return "absent"
    store = open_store(out, patient=False)
    names = store.list_top()
    if PLAN in names:
        return "ours"
    # What begins with a dot is a file manager's or a version control's, and nothing here ever touches it.
    strange = [one for one in names if not lease.is_lock(one) and not one.startswith((".", PROBE))]
    if not strange:
        return "empty" if names or isinstance(out, Path) else "absent"
    receipts = Receipts(store)
    tops = {relative.partition("/")[0] for relative in (*receipts.all(), *receipts.failed_names())}
    if tops.union(_OWN).issuperset(strange) and any(map(receipts.read, receipts.all())):
        return "ours"
    raise OutputError(
        f"{out} is not an output folder of this program: it has no {PLAN}, but holds {strange[0]!r}"
        + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
        + "; choose a new or empty place for --out"
    )


class SeenOutput:
    """An output that is only looked at. ``path``: where it is; ``name``: its absolute path or URI, for plans."""

    def __init__(self, out: Location, store: Store | None = None) -> None:
        self.path = out
        self.store = store if store is not None else open_store(out)

    @property
    def name(self) -> str:
        return str(self.path.resolve()) if isinstance(self.path, Path) else str(self.path)

    @cached_property
    def receipts(self) -> Receipts:
        """All receipts of a remote output are read when this is asked for first."""
        found = Receipts(self.store)
        found.refresh()
        return found

    def read(self, name: str) -> bytes | None:
        """The content of one of the output's own files; ``None`` where there is none."""
        found = self.store.read(name)
        return found[0] if found is not None else None

    @property
    def is_finished(self) -> bool:
        """Whether every planned shard is done: ``_SUCCESS`` is there, and agrees with the plan and all receipts."""
        return self.why_unfinished() is None

    def why_unfinished(self) -> str | None:
        """Why not every planned shard is done; ``None`` if it is."""
        if self.store.look(SUCCESS) is None:
            return f"it has no {SUCCESS}"
        inputs = self._inputs()
        if inputs is None:
            return f"its {PLAN} is damaged"
        found = {relative: self.receipts.look(relative) for relative in inputs}
        for relative, receipt in found.items():
            if isinstance(receipt, str):
                return f"{relative}: {receipt}"
        agrees = self.agrees_with([one for one in found.values() if isinstance(one, Receipt)])
        return None if agrees else f"its {SUCCESS} does not agree with its receipts"

    def agrees_with(self, receipts: Collection[Receipt]) -> bool:
        """Whether ``_SUCCESS`` is there and agrees with these receipts, which are those of all planned shards."""
        return self.read(SUCCESS) == digest_of(receipts).encode("ascii")

    def _inputs(self) -> Mapping[str, object] | None:
        plan = self.read(PLAN)
        found = planned_inputs(plan, self.store.uri(PLAN)) if plan is not None else None
        return found if found is not None and all(map(is_output, found)) else None

    def stored(self, relatives: Iterable[str]) -> dict[str, str]:
        """Those of the outputs that are there, with the absolute path or the URI of each."""
        return {one: self.store.uri(one) for one in relatives if self.receipts.entry(one) is not None}

    def outside_of(self, keep: Collection[str]) -> list[str]:
        """Relative paths of outputs that are there and not to be kept, sorted."""
        found = self._known(keep)
        there = self.stored(found)
        return [one for one in found if one in there and self._is_inside(one)]

    def _known(self, keep: Collection[str]) -> list[str]:
        """The outputs that are not to be kept, sorted: known by a receipt, a note in ``_failed/``, or the plan."""
        known = {*self.receipts.all(), *self.receipts.failed_names(), *(self._inputs() or ())}
        return sorted(relative for relative in known.difference(keep) if is_output(relative))

    def _is_inside(self, relative: str) -> bool:
        """Whether an output really lies in a folder; behind a link to another folder it is not ours to remove."""
        if not isinstance(self.path, Path):
            return True
        return (self.path / relative).parent.resolve().is_relative_to(self.path.resolve())

    def file(self, relative: str) -> OutputFile:
        """A shard's output as it is now.

        Raises:
            OSError: there is none.
        """
        found = self.receipts.entry(relative)
        if found is None:
            raise FileNotFoundError(f"{self.store.uri(relative)} is not there")
        return OutputFile(self.store, relative, found)


class RunOutput(SeenOutput, Closing):
    """An output, held by this process until the context ends; made by :meth:`open`.

    ``holder``: what writers of files in this output are given: of the folder, or of a local one in which files are
    written before they are uploaded.
    """

    def __init__(self, out: Location, store: Store, held: lease.Lease) -> None:
        super().__init__(out, store)
        self._lease = held
        self.token = held.token
        self._staging = None if isinstance(out, Path) else TemporaryDirectory(prefix="d2t-")
        root = out if isinstance(out, Path) else Path(self._staging.name if self._staging else "")
        self.holder = Holder(root, self.token, self.check)
        if isinstance(store, FolderStore):
            self.store = FolderStore(store.place, self.holder)

    @classmethod
    def open(
        cls,
        out: Location,
        *,
        create: bool = False,
        part: lease.Part | None = None,
        say: Callable[[str], None] = lambda message: None,
    ) -> Self:
        """Take hold of an output.

        Args:
            create: create the folder if it does not exist.
            part: hold a part of it, k of n.
            say: called when this waits for a machine that may be lost.

        Raises:
            OutputError: not ours, not there, cannot be written, or held by another run (says by whom).
        """
        found = inspect_output(out)
        store = open_store(out)
        if isinstance(store, BucketStore):
            store.require_conditions()
        elif found == "absent":
            if not create:
                raise OutputError(f"{out} does not exist; create it with `scorer run`")
            with output_errors("make", store.place):
                make_folders(store.place)
        held = lease.take(store, part, say)
        try:
            inspect_output(out)  # somebody else may have had it until a moment ago
        except OutputError:
            held.release()
            raise
        return cls(out, store, held)

    def close(self) -> None:
        """Let go of the output."""
        if self._staging is not None:
            self._staging.cleanup()
        self._lease.release()

    def check(self) -> None:
        """Make sure that the output is still held; asked before whatever counts is written.

        Raises:
            OutputError: another run took it over while this one gave no sign of life.
        """
        self._lease.check()

    def show(self, workers: Sequence[Worker], died: Sequence[str] = ()) -> None:
        """Let the lease say what this run does, from the next heartbeat on."""
        self._lease.activity = Activity.of(workers, died)

    def others(self) -> dict[str, str]:
        """The other parts that run now: names of their locks, and their tokens."""
        return self._lease.others()

    def write_plan(self, plan: bytes) -> None:
        """Take ``_SUCCESS`` and ``_run.json`` away, then replace the plan."""
        self.reopen()
        crash_point("plan.success_removed")
        self._write(PLAN, plan, "plan")

    def create_plan(self, plan: bytes) -> bool:
        """Write the plan of an output that has none; ``False`` if another part was faster."""
        self.reopen()
        return self.store.put(PLAN, plan, ABSENT, label="plan") is not None

    def write_run(self, summary: bytes) -> None:
        """Replace ``_run.json``."""
        self._write(RUN, summary, "run")

    def write_success(self, receipts: Iterable[Receipt]) -> None:
        """Say that every planned shard is done; the last thing a run writes. ``receipts``: of all of them."""
        self._write(SUCCESS, digest_of(receipts).encode("ascii"), "success")

    def _write(self, name: str, content: bytes, label: str) -> None:
        self.check()
        self.store.put(name, content, ANY, label=label)

    def reopen(self) -> None:
        """Say that not every planned shard is done: no ``_SUCCESS``, and no totals that claim it."""
        self.store.delete([SUCCESS, RUN])

    def remove_stale(self, keep: Collection[str]) -> list[str]:
        """Remove the outputs whose input is gone, and tell which, sorted.

        The receipt goes first, so that a run killed in between leaves no receipt without its file.

        Raises:
            OutputError: something cannot be removed.
        """
        return [relative for relative in self._known(keep) if self._remove(relative)]

    def set_aside(self, relative: str) -> None:
        """Make a shard not done, and the output not finished; an earlier file stays where it is.

        Raises:
            OutputError: something cannot be removed.
        """
        self.reopen()
        self.receipts.remove(relative)

    def _remove(self, relative: str) -> bool:
        """Remove a shard's receipt, then its output, then the note that it failed; tells whether any was there."""
        if not self._is_inside(relative):
            return False
        traces = [receipt_name(relative), relative, failed_name(relative)]
        if all(self.receipts.entry(name) is None for name in traces):
            return False
        self.reopen()
        self.receipts.delete(traces[:1])
        crash_point("stale.receipt_removed")
        self.receipts.delete(traces[1:])
        if isinstance(self.path, Path) and not self.others():
            folder_care.prune(self.path, [self.path / name for name in traces])
        return True

    def sweep_temporary(self) -> list[str]:
        """Remove the temporary files that dead runs left, and tell which, as paths below the output; those of parts
        that run now are kept: their names carry the tokens of the parts' locks."""
        return folder_care.sweep(self.path, {*self.others().values()}) if isinstance(self.path, Path) else []

    def refuse_links(self, relatives: Collection[str]) -> None:
        """Make sure that no output, and no file about one, would be written through a symbolic link.

        Raises:
            OutputError: a link stands in the place of one of them, or of a folder on the way there.
        """
        if isinstance(self.path, Path):
            folder_care.refuse_links_at(self.path, relatives)

    def require_space(self, needed: int, what: str) -> None:
        """See :func:`.durable.require_space`; a store has no end."""
        if isinstance(self.path, Path):
            require_space(self.path, needed, what)
