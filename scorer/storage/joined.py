"""What a worker of a joined run (``--join``) asks of its output, wherever that is.

Two places answer: a folder (:mod:`.joined_folder`) and an object store (:mod:`.objects.joined`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from ..system.json_fields import Fields
from .claims import HeldClaim, StandingClaim
from .durable import Holder
from .objects.uri import Location
from .receipts import Receipt
from .records import Fingerprint, Identity, WrittenFile


class RunReceipts(Protocol):
    """The receipts of an output, and the notes about shards that were set aside; see :class:`.Receipts`."""

    def all(self) -> Iterable[str]:
        """Relative paths of all shards that have a receipt, sorted."""
        ...

    def failed_names(self) -> list[str]:
        """Relative paths of the shards set aside, sorted."""
        ...

    def is_settled(self, relative: str) -> bool:
        """Whether a shard has a receipt or, where that costs nothing more to see, was set aside."""
        ...

    def read(self, relative: str) -> Receipt | None: ...

    def compare(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str: ...

    def renew(self, relative: str, identity: Identity) -> Receipt | None: ...

    def is_intact(self, receipt: Receipt) -> bool: ...

    def remove(self, relative: str) -> None: ...

    def remove_all(self, relatives: Iterable[str]) -> None:
        """Make shards not done, as of the last look at them."""
        ...

    def write_failed(self, relative: str, kind: str, message: str, identity: Identity | None) -> None: ...

    def clear_failed(self, relative: str) -> None: ...


class RunClaims(Protocol):
    """The claims of one worker; see :class:`.Claims`."""

    def __enter__(self) -> RunClaims: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def standing(self) -> Mapping[str, StandingClaim]:
        """The latest claim of every shard that has one, by :func:`.claims.key`; one listing."""
        ...

    def take(self, relative: str, over: StandingClaim | None) -> HeldClaim | None: ...

    def renew(self) -> None: ...

    def confirm(self, claim: HeldClaim) -> None:
        """Ask once more whether a claim is held, however much that costs.

        Raises:
            ClaimLostError: it is not.
        """
        ...

    def give_back(self, claim: HeldClaim) -> None: ...


class KnownReceipts(Protocol):
    """Receipts that need not be checked again."""

    def receipt(self, relative: str) -> Receipt | None:
        """The receipt of an output that this process wrote, if neither has changed since."""
        ...


class Publisher(KnownReceipts, Protocol):
    """Publishes what a worker made. ``holder``: of the folder in which outputs are written, which asks the worker's
    check before they are complete."""

    @property
    def holder(self) -> Holder: ...

    def publish(self, relative: str, written: WrittenFile) -> WrittenFile:
        """Give a complete output, which was written below the holder's folder, its name.

        Raises:
            OutputError: it cannot be published, or no longer may be.
        """
        ...

    def write(self, receipt: Receipt) -> None:
        """Make a shard done, after its output was published."""
        ...

    def write_run(self, summary: Mapping[str, object]) -> None:
        """Replace ``_run.json``."""
        ...

    def write_success(self, plan: str) -> None:
        """Say that every planned shard is done. ``plan``: digest of the plan for which this holds."""
        ...


class JoinedOutput(Protocol):
    """The output of a joined run, in the hands of one worker until the context ends. Most is explained at
    :class:`.OutputFolder`. ``path``: for messages. ``token``: of the worker."""

    token: str

    @property
    def path(self) -> Location: ...

    @property
    def receipts(self) -> RunReceipts: ...

    def close(self) -> None: ...

    def brief(self) -> AbstractContextManager[None]: ...

    def join_worker(self) -> list[str]: ...

    def announce(self, device: str) -> None:
        """Say on which device this worker computes."""
        ...

    def check(self) -> None: ...

    def plan_stamp(self) -> Hashable | None:
        """A value that changes when the plan is replaced; ``None`` where there is no plan."""
        ...

    def read_plan(self) -> Fields | None: ...

    def create_plan(self, plan: Mapping[str, object]) -> bool: ...

    def write_plan(self, plan: Mapping[str, object]) -> None: ...

    def read_run(self) -> object:
        """The content of ``_run.json``; ``None`` where there is none, or it is not JSON."""
        ...

    @property
    def is_finished(self) -> bool: ...

    def reopen(self) -> None: ...

    def set_aside(self, relative: str) -> None: ...

    def refuse_links(self, relatives: Collection[str]) -> None: ...

    def outside_of(self, keep: Collection[str]) -> list[str]:
        """Relative paths of outputs that are there and not to be kept, sorted."""
        ...

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        """Those of the outputs that are there, with the absolute path or the URI of each."""
        ...

    def require_space(self, needed: int, what: str) -> None: ...

    def sweep_temporary(self) -> list[str]: ...

    def sweep_after_workers(self) -> None:
        """Remove the temporary files of workers that were killed, at the end of a run; others may still run."""
        ...

    def remove_stale(self, keep: Collection[str]) -> list[str]: ...

    def refresh(self) -> None:
        """Look again at everything, where something is remembered."""
        ...

    def standing_claims(self) -> Mapping[str, StandingClaim]:
        """The claims of all workers; see :class:`RunClaims`."""
        ...

    def remove_claims(self) -> None: ...

    def claims(self, lease_s: float) -> RunClaims:
        """The claims of this worker, none at first."""
        ...

    def publisher(self, check: Callable[[], None], confirm: Callable[[], None]) -> Publisher:
        """What publishes for this worker.

        Args:
            check: called before anything is published; raises if that is no longer allowed.
            confirm: called before something that another process wrote is replaced; asks more than ``check``.
        """
        ...
