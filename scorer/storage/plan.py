"""One run's hold on an output folder: whose it is, who holds it, what it is meant to become, when it is finished.

``_lock`` carries the lease (see :mod:`.lease`), ``_plan.json`` makes the folder ours, ``_run.json`` tells how the last
run went, and ``_SUCCESS`` is there only while every planned shard is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

from ..errors import OutputError
from ..system.closing import Closing
from ..system.json_fields import Fields
from . import lease
from .claims import remove_claims
from .durable import (
    Holder,
    atomic_bytes,
    atomic_json,
    crash_point,
    create_json,
    discard,
    is_temporary,
    make_folders,
    output_errors,
    read_json,
    refuse_links,
    sync_folder,
    token_of,
)
from .finished import PLAN, RUN, SUCCESS, is_finished, plan_fields
from .local_paths import local_path
from .receipts import FAILED, RECEIPTS, Receipts, check_relative
from .workers import CLAIMS, remove_card

Found = Literal["absent", "empty", "ours"]


def inspect_output(out: Path) -> Found:
    """What stands where the output is to go; writes nothing.

    ``empty`` is also a folder in which a run ended before its plan was written.

    Raises:
        UsageError: the path is a URI.
        OutputError: a file, a folder with something else in it, or one that cannot be written.
    """
    local_path(out, "the output folder")
    with output_errors("look into", out):
        if not out.exists():
            if out.is_symlink():
                raise OutputError(f"{out} is a link that leads nowhere; remove it or choose another --out")
            above = next(path for path in out.absolute().parents if path.exists())
            if not above.is_dir():
                raise OutputError(f"{out} cannot be made: {above} is a file; choose another --out")
            if not os.access(above, os.W_OK | os.X_OK):
                raise OutputError(f"{out} cannot be made: {above} cannot be written; choose another --out")
            return "absent"
        if not out.is_dir():
            raise OutputError(f"{out} is a file, and the output is a folder; choose another --out")
        names = sorted(path.name for path in out.iterdir())
        ours = (out / PLAN).is_file()
    if not os.access(out, os.W_OK | os.X_OK):
        raise OutputError(f"{out} cannot be written by this user; choose another --out or change its permissions")
    if ours:
        return "ours"
    own = {RUN, SUCCESS, RECEIPTS, FAILED, CLAIMS}
    # What begins with a dot is a file manager's or a version control's, and nothing here ever touches it.
    strange = [name for name in names if not lease.is_lock(name) and not name.startswith(".")]
    if _told_by_receipts(out, [name for name in strange if name not in own]):
        return "ours"
    if strange:
        raise OutputError(
            f"{out} is not an output folder of this program: it has no {PLAN}, but holds {strange[0]!r}"
            + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
            + "; choose a new or empty folder for --out"
        )
    return "empty"


def _told_by_receipts(out: Path, names: Collection[str]) -> bool:
    """Whether a folder without a plan is ours all the same: a receipt in it is whole, and all ``names`` in the folder
    are those of shards with a receipt or a note."""
    receipts = Receipts(out)
    known = {*receipts.all(), *receipts.failed()}
    tops = {relative.partition("/")[0] for relative in known}
    return tops.issuperset(names) and any(receipts.read(relative) for relative in receipts.all())


def _known(out: Path, keep: Collection[str]) -> list[str]:
    """The outputs that are not to be kept, sorted: known by a receipt, a note in ``_failed/``, or the plan."""
    receipts = Receipts(out)
    plan = OutputFolder.peek_plan(out)
    planned = plan.content.get("inputs") if plan is not None else None
    known = {*receipts.all(), *receipts.failed(), *(planned if isinstance(planned, dict) else ())}
    return sorted(relative for relative in known.difference(keep) if _is_output(relative))


def _is_output(relative: str) -> bool:
    try:
        check_relative(relative)
    except OutputError:
        return False  # a plan or receipt that somebody else wrote; it names nothing of ours
    return True


def _lies_below(out: Path, relative: str) -> bool:
    """Whether an output really lies in the folder; behind a link to another folder it is not ours to remove."""
    return (out / relative).parent.resolve().is_relative_to(out.resolve())


class OutputFolder(Closing):
    """An output folder, held by this process until the context ends; made by :meth:`open`.

    ``token``: this holder's, in the lines of its locks and the names of its temporary files. ``holder``: what writers
    of files in this folder are given. ``receipts``: the folder's, for this holder to write.
    """

    def __init__(self, out: Path, held: lease.Lease, shared: bool = False) -> None:
        self.path = out
        self.shared = shared
        self._leases = [held]
        self._part = ""
        self.token = held.token
        self.holder = Holder(out, self.token, self.check)
        self.receipts = Receipts(out, self.holder)

    @classmethod
    def open(
        cls,
        out: Path,
        *,
        create: bool = False,
        shared: bool = False,
        say: Callable[[str], None] = lambda message: None,
    ) -> Self:
        """Take hold of a folder.

        Args:
            create: create the folder if it does not exist.
            shared: share the folder with other processes; for parts, which then :meth:`join`.
            say: called when this waits for a machine that may be lost.

        Raises:
            OutputError: not ours, not there, cannot be written, or held by another run (says by whom).
        """
        if inspect_output(out) == "absent":
            if not create:
                raise OutputError(f"{out} does not exist; a run makes it")
            with output_errors("make", out):
                make_folders(out)
        held = lease.take(out / lease.LOCK, shared=shared, say=say)
        try:
            inspect_output(out)  # somebody else may have had it until a moment ago
        except OutputError:
            held.release()
            raise
        return cls(out, held, shared)

    def close(self) -> None:
        """Let go of the folder."""
        if self._part == lease.worker_lock(self.token):
            remove_card(self.path, self.token)
            discard(self.path / self._part)  # its name is used once, so no other process waits for this file
        while self._leases:
            self._leases.pop().release()

    @contextmanager
    def brief(self) -> Iterator[None]:
        """Hold what all parts share (plan, totals, markers) for a moment; a whole run shares nothing."""
        if not self.shared:
            yield
            return
        with lease.brief(self.path, self.token):
            yield

    def join(self, part: tuple[int, int]) -> list[str]:
        """Take a part's own lease, under :meth:`brief`; returns the other parts that run now, as ``k/n``.

        Raises:
            OutputError: another process has this part.
        """
        return self._join(lease.part_lock(part))

    def join_worker(self) -> list[str]:
        """Take the lease of a worker, under :meth:`brief`; returns the parts and workers that run now."""
        others = self._join(lease.worker_lock(self.token))
        lease.remove_ended_workers(self.path, self._part)
        return others

    def _join(self, name: str) -> list[str]:
        self._part = name
        if not any(held.path.name == self._part for held in self._leases):
            self._leases.append(lease.take(self.path / self._part, token=self.token))
        return lease.other_parts(self.path, self._part)

    def check(self) -> None:
        """Make sure that the folder is still held; asked before each rename and each receipt.

        Raises:
            OutputError: another run took it over while this one gave no sign of life.
        """
        for held in self._leases:
            held.check()

    @staticmethod
    def peek_plan(out: Path) -> Fields | None:
        """The fields of the plan in a folder that need not be held; ``None`` when there is none or it is damaged.

        Raises:
            OutputError: it was written by a newer version of this program.
        """
        return plan_fields(read_json(out / PLAN), str(out / PLAN))

    def read_plan(self) -> Fields | None:
        """The plan; see :meth:`peek_plan`."""
        return self.peek_plan(self.path)

    def write_plan(self, plan: Mapping[str, object]) -> None:
        """Take ``_SUCCESS`` and ``_run.json`` away, then replace the plan."""
        self.reopen()
        crash_point("plan.success_removed")
        atomic_json(self.path / PLAN, plan, "plan", self.holder)

    def create_plan(self, plan: Mapping[str, object]) -> bool:
        """Write the plan of a folder that has none; ``False`` if another worker was faster."""
        self.reopen()
        return create_json(self.path / PLAN, plan, "plan", self.holder)

    def write_run(self, summary: Mapping[str, object], holder: Holder | None = None) -> None:
        """Replace ``_run.json``. ``holder``: one that checks more than that the folder is held."""
        atomic_json(self.path / RUN, summary, "run", holder or self.holder)

    def write_success(self, plan: str = "", holder: Holder | None = None) -> None:
        """Say that every planned shard is done; the last thing a run writes.

        Args:
            plan: digest of the plan; the marker holds for that plan alone. Without it, for any.
            holder: one that checks more than that the folder is held.
        """
        atomic_bytes(self.path / SUCCESS, plan.encode("ascii"), "success", holder or self.holder)

    def reopen(self) -> None:
        """Say that not every planned shard is done: no ``_SUCCESS``, and no totals that claim it."""
        for name in (SUCCESS, RUN):
            with output_errors("remove", self.path / name):
                try:
                    (self.path / name).unlink()
                except FileNotFoundError:
                    continue
                sync_folder(self.path)

    @property
    def is_finished(self) -> bool:
        """See :func:`is_finished`."""
        return is_finished(self.path)

    @staticmethod
    def outside(out: Path, keep: Collection[str]) -> list[str]:
        """Relative paths of outputs that are there and not to be kept, sorted. The folder need not be held.

        Raises:
            OutputError: the plan was written by a newer version, or a file cannot be read.
        """
        return [relative for relative in _known(out, keep) if (out / relative).is_file() and _lies_below(out, relative)]

    def remove_stale(self, keep: Collection[str]) -> list[str]:
        """Remove the outputs whose input is gone, and tell which, sorted.

        The receipt goes first, so that a run killed in between leaves no receipt without its file.

        Raises:
            OutputError: something cannot be removed.
        """
        return [relative for relative in _known(self.path, keep) if self.remove_output(relative)]

    def set_aside(self, relative: str) -> None:
        """Make a shard not done, and the folder not finished; an earlier output stays where it is.

        Raises:
            OutputError: something cannot be removed.
        """
        self.reopen()
        self.receipts.remove(relative)

    def remove_output(self, relative: str, *, prune: bool = True) -> bool:
        """Remove a shard's receipt, then its output, then the note that it failed; tells whether any was there.

        Args:
            prune: remove the folders that became empty, which another part may be about to write into.

        Raises:
            OutputError: something cannot be removed.
        """
        if not _is_output(relative):
            return False
        file = self.path / relative
        with output_errors("remove", file):
            if not _lies_below(self.path, relative):
                return False
            there = [path for path in self._traces(relative) if path.is_file() or path.is_symlink()]
            if there:
                self.reopen()
        self.receipts.remove(relative)
        crash_point("stale.receipt_removed")
        with output_errors("remove", file):
            if file in there:
                file.unlink()
                sync_folder(file.parent)
        self.receipts.clear_failed(relative)
        for path in self._traces(relative) if prune else ():
            self._prune(path.parent)
        return bool(there)

    def _traces(self, relative: str) -> list[Path]:
        return [self.path / relative, *(self.path / top / f"{relative}.json" for top in (RECEIPTS, FAILED))]

    def _prune(self, folder: Path) -> None:
        """Remove folders that became empty, upwards; a folder with anything in it ends that."""
        while folder != self.path and folder.is_relative_to(self.path):
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return
            folder = folder.parent

    def sweep_temporary(self) -> list[str]:
        """Remove the temporary files that dead runs left, and tell which, as paths below the folder.

        Those of parts that run now are kept: their names carry the tokens that the parts' locks do. While a part runs,
        names without a holder's token (of earlier versions) are kept too. Parts ask this under :meth:`brief`.
        """
        live = lease.other_tokens(self.path, self._part) if self.shared else set()
        if not self.shared:
            lease.remove_ended_workers(self.path, "")
            remove_claims(self.path)
        swept = []
        for root, folders, names in os.walk(self.path):
            folders.sort()
            for name in sorted(filter(is_temporary, names)):
                if live and token_of(name) in {*live, None}:
                    continue
                path = Path(root, name)
                discard(path)
                swept.append(path.relative_to(self.path).as_posix())
        return swept

    def refuse_links(self, relatives: Collection[str]) -> None:
        """Make sure that no output, and no file about one, would be written through a symbolic link.

        Raises:
            OutputError: a link stands in the place of one of them, or of a folder on the way there.
        """
        if not self._has_links():  # nearly always so, and it saves a look at each of the paths
            return
        for relative in relatives:
            for path in self._traces(relative):
                refuse_links(self.path, path)
        for name in (PLAN, RUN, SUCCESS, CLAIMS):
            refuse_links(self.path, self.path / name)

    def _has_links(self) -> bool:
        """Whether there is a symbolic link anywhere below the folder; one listing of each folder tells."""
        folders = [str(self.path)]
        while folders:
            with output_errors("look into", self.path), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        return True
                    if entry.is_dir():
                        folders.append(entry.path)
        return False
