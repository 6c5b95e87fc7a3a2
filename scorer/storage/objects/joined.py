"""The output of a joined run in an object store, as one of its workers uses it; see :mod:`scorer.storage.joined`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...errors import OutputError
from ...system.closing import Closing
from ...system.json_fields import Fields
from ..canonical import digest
from ..claims import StandingClaim
from ..durable import Holder, crash_point, discard, json_bytes, output_errors
from ..finished import PLAN, RUN, SUCCESS, plan_fields
from ..lease import BRIEF, new_token
from ..lock_files import described
from ..receipts import FAILED, RECEIPTS, Receipt
from ..records import WrittenFile
from ..workers import CLAIMS
from .claims import StandingClaims, StoreClaims
from .presence import BriefLock, Presence, live_workers
from .receipts import StoreReceipts, parsed_json
from .store import ObjectStore, StoreError
from .uri import StoreUri

_OWN = {PLAN, RUN, SUCCESS, BRIEF, RECEIPTS, FAILED, CLAIMS}


def require_conditions(store: ObjectStore, out: StoreUri) -> None:
    """Make sure that the store refuses writes whose condition does not hold, by writing a small object.

    Raises:
        StoreError: it writes them all the same, or cannot be reached or written to.
    """
    key = out.key(f"{CLAIMS}/probe-{secrets.token_hex(8)}")
    try:
        first = store.put_new(key, b"first")
        again = store.put_new(key, b"again")
        second = store.put_over(key, b"second", first) if first is not None else None
        stale = store.put_over(key, b"stale", first) if first is not None else None
    finally:
        store.delete([key])
    if first is None or second is None or again is not None or stale is not None:
        raise StoreError(
            f"{out.root}: the store does not support conditional writes (If-None-Match and If-Match), without which "
            "workers could overwrite each other's outputs; use a store that has them (docs/stores.md), or a local --out"
        )


def inspect_store(store: ObjectStore, out: StoreUri) -> bool:
    """Whether there is a run at a place, which must be empty otherwise.

    Raises:
        OutputError: other objects are there.
    """
    objects, prefixes = store.entries(out.path)
    names = {one.rstrip("/").rpartition("/")[2] for one in (*objects, *prefixes)}
    if PLAN in names:
        return True
    strange = sorted(name for name in names - _OWN if not name.startswith("."))
    if strange:
        raise OutputError(
            f"{out} is not an output of this program: it has no {PLAN}, but holds {strange[0]!r}"
            + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
            + "; choose a new or empty prefix for --out"
        )
    return False


class JoinedStore(Closing):
    """An output that workers share; made by :meth:`open`. Its methods are those of :class:`.JoinedOutput`."""

    def __init__(self, store: ObjectStore, out: StoreUri, say: Callable[[str], None]) -> None:
        self.path = out
        self.token = new_token()
        self.receipts = StoreReceipts(store, out)
        self._store = store
        self._presence = Presence(store, out, self.token)
        self._lock = BriefLock(store, out, self.token, say)
        self._standing = StandingClaims(store, out)
        self._plan_version = ""
        self._staging = TemporaryDirectory(prefix="d2t-")
        self._in_brief = False

    @classmethod
    def open(cls, out: StoreUri, say: Callable[[str], None] = lambda message: None) -> JoinedStore:
        """Look at a place in a store, which becomes an output when a plan is written.

        Raises:
            OutputError: not ours, or the store cannot be used.
            MissingDependencyError: ``obstore`` is not installed.
        """
        first = ObjectStore.open(out, patient=False)
        inspect_store(first, out)
        require_conditions(first, out)
        return cls(ObjectStore.open(out), out, say)

    def close(self) -> None:
        """Leave the run."""
        self._presence.close()
        self._staging.cleanup()

    @property
    def staging(self) -> Path:
        """The local folder in which outputs are written before they are uploaded."""
        return Path(self._staging.name)

    @contextmanager
    def brief(self) -> Iterator[None]:
        with self._lock.held():
            self.receipts.forget()
            self._in_brief = True
            try:
                yield
            finally:
                self._in_brief = False

    def join_worker(self) -> list[str]:
        """The workers that run now; none while there is no plan: this worker holds the brief lock, so that others
        have ended, or were killed, before they wrote one."""
        self._presence.begin()
        if self.plan_stamp() is None:
            return []
        listed = [one for one in self._store.below(self.path.key(CLAIMS)) if self.token not in one.key]
        return [
            described({"pid": one.pid, "host": one.host, "started": one.started}, "a worker")
            for one in live_workers(self._store, self.path, listed, self._presence.clock.now())
        ]

    def announce(self, device: str) -> None:
        self._presence.announce(device)

    def check(self) -> None:
        """While the brief lock is held, make sure that it still is; otherwise the store checks each write."""
        if self._in_brief:
            self._lock.check()

    def plan_stamp(self) -> Hashable | None:
        found = self._store.head(self._own(PLAN))
        return found.e_tag if found is not None else None

    def read_plan(self) -> Fields | None:
        found = self._store.read(self._own(PLAN))
        if found is None:
            self._plan_version = ""
            return None
        self._plan_version = found[1]
        return plan_fields(parsed_json(found[0]), str(self.path.below(PLAN)))

    def create_plan(self, plan: Mapping[str, object]) -> bool:
        self.reopen()
        written = self._store.put_new(self._own(PLAN), json_bytes(plan))
        crash_point("plan.uploaded")
        return written is not None

    def write_plan(self, plan: Mapping[str, object]) -> None:
        self.reopen()
        self.check()
        if not self._plan_version:
            self.read_plan()
        content = json_bytes(plan)
        if self._plan_version:
            written = self._store.put_over(self._own(PLAN), content, self._plan_version)
        else:
            written = self._store.put_new(self._own(PLAN), content)
        if written is None:
            raise OutputError(f"{self.path}: another worker replaced {PLAN} a moment ago; run again")

    def read_run(self) -> object:
        found = self._store.read(self._own(RUN))
        return parsed_json(found[0]) if found is not None else None

    @property
    def is_finished(self) -> bool:
        marker = self._store.read(self._own(SUCCESS))
        plan = self._store.read(self._own(PLAN)) if marker is not None else None
        content = parsed_json(plan[0]) if plan is not None else None
        return marker is not None and isinstance(content, dict) and digest(content).encode("ascii") == marker[0]

    def reopen(self) -> None:
        self._store.delete([self._own(SUCCESS), self._own(RUN)])

    def set_aside(self, relative: str) -> None:
        self.reopen()
        self.receipts.remove(relative)

    def refuse_links(self, relatives: Collection[str]) -> None:
        """A store has no links."""

    def outside_of(self, keep: Collection[str]) -> list[str]:
        return sorted(set(self.receipts.listed.outputs).difference(keep))

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        there = self.receipts.listed.objects
        return {one: str(self.path.below(one)) for one in relatives if one in there}

    def require_space(self, needed: int, what: str) -> None:
        """A store has no end; the local folder is looked at before each output."""

    def sweep_temporary(self) -> list[str]:
        """Nothing is uploaded under a temporary name."""
        return []

    def sweep_after_workers(self) -> None:
        """See :meth:`sweep_temporary`."""

    def remove_stale(self, keep: Collection[str]) -> list[str]:
        """Remove the receipts and notes whose input is gone; outputs without an input were refused before."""
        gone = []
        for top in (RECEIPTS, FAILED):
            names = [name for name in self.receipts.listed.objects if name.startswith(f"{top}/")]
            gone += [name for name in names if name.removeprefix(f"{top}/").removesuffix(".json") not in keep]
        if gone:
            self.reopen()
            self._store.delete(map(self.path.key, gone))
        return sorted({name.partition("/")[2].removesuffix(".json") for name in gone})

    def refresh(self) -> None:
        self.receipts.refresh()

    def standing_claims(self) -> Mapping[str, StandingClaim]:
        return self._standing.read(self._presence.clock.now())

    def remove_claims(self) -> None:
        """Remove all claims and the cards of workers that give no sign of life."""
        listed = list(self._store.below(self.path.key(CLAIMS)))
        alive = self._standing.living(listed, self._presence.clock.now())
        self._store.delete(
            one.key
            for one in listed
            if one.key.rpartition("/")[2].removeprefix("worker-").removesuffix(".json") not in alive
        )

    def claims(self, lease_s: float) -> StoreClaims:
        return StoreClaims(self._store, self.path, self.token, lease_s, self._presence.clock)

    def publisher(self, check: Callable[[], None], confirm: Callable[[], None]) -> StorePublisher:
        return StorePublisher(self._store, self, check, confirm)

    def _own(self, name: str) -> str:
        return self.path.key(name)


class StorePublisher:
    """Publishes into a store by conditional writes; see :class:`.Publisher`.

    Args:
        check: asked before each write. confirm: asked before an object of another process is replaced.
    """

    def __init__(
        self, store: ObjectStore, output: JoinedStore, check: Callable[[], None], confirm: Callable[[], None]
    ) -> None:
        self.holder = Holder(output.staging, output.token, check)
        self._store, self._output, self._check, self._confirm = store, output, check, confirm
        self._mine: dict[str, tuple[Receipt, str]] = {}

    def publish(self, relative: str, written: WrittenFile) -> WrittenFile:
        file = self.holder.root / relative
        with output_errors("read", file):
            content = file.read_bytes()
        discard(file)
        key = self._output.path.key(relative)
        # Another worker of the same plan writes the same bytes.
        version = self._store.publish(key, content, self._confirm, sha256=written.sha256, same=True)
        crash_point("output.uploaded")
        return replace(written, e_tag=version)

    def write(self, receipt: Receipt) -> None:
        key = self._output.receipts.key(receipt.relative)
        version = self._store.publish(key, json_bytes(receipt.to_json()), self._confirm)
        crash_point("receipt.uploaded")
        self._mine[receipt.relative] = receipt, version
        self._output.receipts.remember(receipt, version)

    def receipt(self, relative: str) -> Receipt | None:
        receipt, version = self._mine.get(relative, (None, ""))
        if receipt is None or self._output.receipts.known(relative) != (version, receipt.output.e_tag):
            return None
        return receipt

    def write_run(self, summary: Mapping[str, object]) -> None:
        self._replace(RUN, json_bytes(summary))
        crash_point("run.uploaded")

    def write_success(self, plan: str) -> None:
        self._replace(SUCCESS, plan.encode("ascii"))
        crash_point("success.uploaded")

    def _replace(self, name: str, content: bytes) -> None:
        self._check()
        self._store.publish(self._output.path.key(name), content, self._confirm)
