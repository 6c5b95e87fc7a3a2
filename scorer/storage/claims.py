"""Claims: which worker of a joined run (``--join``) scores which shard, so that no two do the same work.

A claim is a file ``_claims/<digest of the shard's path>.<n>``, created with ``O_EXCL``, so that of any number of
workers on any machines one gets it. Its modification time is renewed after each finished batch, and compared on the
file system's own clock. A claim that was not renewed for the length of the lease has expired; one whose worker has
certainly ended has crashed. Another worker takes the shard over by creating number n + 1. The earlier holder sees that
file before it publishes anything, and drops its work.

A claim only saves work. Between the last look at the claim and the rename, two workers may publish the same shard; they
have the same plan, so they write the same bytes. Therefore claims are not synced to disk.
"""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from ..errors import OutputError
from ..system.closing import Closing
from .durable import discard, make_folders, output_errors
from .lock_files import parsed, read_line, store_time
from .workers import CLAIMS, has_ended

MOST_CRASHES = 2
"""A shard whose workers crashed so often is set aside."""
MOST_EXPIRIES = 5
"""A shard whose claims expired so often is set aside."""


class ClaimLostError(OutputError):
    """Another worker has taken the shard over; what was made of it is dropped."""


@dataclass(frozen=True)
class StandingClaim:
    """A claim that is there.

    ``relative``: of the shard. ``number``: how often it was claimed. ``worker``: token of its holder. Both texts are
    empty where the file is not written yet. ``crashes``, ``expiries``: of the claims before it. ``silent_s``: seconds
    since it was renewed. ``ended``: whether its worker has ended, certainly or as far as can be seen. ``crashed``:
    whether it has certainly ended.
    """

    relative: str
    number: int
    worker: str
    crashes: int
    expiries: int
    silent_s: float
    ended: bool
    crashed: bool

    def is_free(self, lease_s: float) -> bool:
        """Whether another worker may take the shard over."""
        return self.ended or self.silent_s > lease_s


@dataclass(frozen=True)
class HeldClaim(ABC):
    """A claim that this process holds.

    ``relative``: of the shard. ``number``: how often it was claimed. ``crashes``, ``expiries``: what became of the
    claims before it.
    """

    relative: str
    number: int
    crashes: int = 0
    expiries: int = 0

    @property
    def why_hopeless(self) -> str | None:
        """Why the shard is to be set aside instead of tried once more; ``None`` if it is not."""
        if self.crashes >= MOST_CRASHES:
            return f"{self.crashes} workers crashed while they scored it"
        if self.expiries >= MOST_EXPIRIES:
            return f"{self.expiries} claims expired, because no batch of it was finished within --lease"
        return None

    @abstractmethod
    def check(self) -> None:
        """Make sure that the shard is still this worker's.

        Raises:
            ClaimLostError: it was taken over, or all claims were removed.
        """


@dataclass(frozen=True)
class Claim(HeldClaim):
    """A claim in a folder. ``path``: its file."""

    path: Path = Path()

    def check(self) -> None:
        """See :class:`HeldClaim`; one look at two files."""
        if not self.path.exists() or _numbered(self.path, self.number + 1).exists():
            raise ClaimLostError(f"{self.relative}: another worker took it over, since no batch was finished in time")


class Claims(Closing):
    """The claims of one worker, which are given back when the context ends. Threads may share it.

    Args:
        token: of the worker.
        lease_s: seconds after which a claim that was not renewed has expired.
    """

    def __init__(self, out: Path, token: str, lease_s: float) -> None:
        self._folder = out / CLAIMS
        self._out = out
        self._token = token
        self._lease_s = lease_s
        self._held: dict[str, Claim] = {}
        self._guard = threading.Lock()
        self._closed = False

    def standing(self) -> Mapping[str, StandingClaim]:
        """The latest claim of every shard that has one, by :func:`key`; one listing of the folder."""
        return standing_claims(self._out)

    def take(self, relative: str, over: StandingClaim | None) -> Claim | None:
        """Claim a shard; ``None`` if another worker was faster. The caller then looks whether the shard is done.

        Args:
            over: the claim that is taken over, which must be free, if there is one.

        Raises:
            OutputError: the claim cannot be written.
        """
        number, crashes, expiries = 1, 0, 0
        if over is not None:
            number = over.number + 1
            crashes, expiries = over.crashes + over.crashed, over.expiries + (not over.crashed)
        claim = Claim(relative, number, crashes, expiries, self._folder / f"{key(relative)}.{number}")
        line = {"relative": relative, "worker": self._token, "crashes": crashes, "expiries": expiries}
        with self._guard:
            if self._closed or not _create(claim.path, json.dumps(line).encode("ascii")):
                return None
            self._held[relative] = claim
        try:
            claim.check()
        except ClaimLostError:  # this listing was older than the claim of another worker
            self.give_back(claim)
            return None
        return claim

    def renew(self) -> None:
        """Renew all claims that this worker holds; called after a finished batch."""
        with self._guard:
            for claim in self._held.values():
                with suppress(OSError):
                    os.utime(claim.path)

    def confirm(self, claim: HeldClaim) -> None:
        """Make sure that a claim is held; see :meth:`HeldClaim.check`."""
        claim.check()

    def give_back(self, claim: HeldClaim) -> None:
        """Let go of a shard: it is done, set aside, or for another worker."""
        with self._guard:
            if (held := self._held.pop(claim.relative, None)) is not None:
                _remove(held)

    def close(self) -> None:
        """Give all claims back and take no more."""
        with self._guard:
            self._closed = True
            while self._held:
                _remove(self._held.popitem()[1])


def key(relative: str) -> str:
    """The digest of a shard's path that its claims are named by: 32 hexadecimal digits."""
    return blake2b(relative.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def standing_claims(out: Path) -> Mapping[str, StandingClaim]:
    """The latest claim of every shard that has one, by :func:`key`.

    Raises:
        OutputError: the folder cannot be read.
    """
    latest: dict[str, int] = {}
    for name in _names(out / CLAIMS):
        digest, _, number = name.partition(".")
        if number.isascii() and number.isdecimal():
            latest[digest] = max(latest.get(digest, 0), int(number))
    if not latest:
        return MappingProxyType({})
    now = store_time(out / CLAIMS)
    ended: dict[str, bool] = {}
    found = {}
    for digest, latest_number in latest.items():
        path = out / CLAIMS / f"{digest}.{latest_number}"
        line = parsed(read_line(path))
        try:
            silent_s = max(0.0, now - path.stat().st_mtime) if now else 0.0
        except OSError:
            continue  # given back a moment ago
        worker = str(line.get("worker", ""))
        if worker and worker not in ended:
            ended[worker] = has_ended(out, worker)
        crashes, expiries = _count(line, "crashes"), _count(line, "expiries")
        relative, gone = str(line.get("relative", "")), ended.get(worker, False)
        found[digest] = StandingClaim(relative, latest_number, worker, crashes, expiries, silent_s, gone, gone)
    return found


def remove_claims(out: Path) -> None:
    """Remove all claims and the cards of workers that have ended, when a folder is finished or has another plan."""
    folder = out / CLAIMS
    for name in _names(folder):
        worker = name.removeprefix("worker-").removesuffix(".json")
        if worker == name or has_ended(out, worker):
            discard(folder / name)
    with suppress(OSError):
        folder.rmdir()


def _count(line: Mapping[str, object], name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) else 0


def _names(folder: Path) -> Iterator[str]:
    with output_errors("look into", folder):
        try:
            yield from os.listdir(folder)  # noqa: PTH208  # names alone, without a path for each
        except FileNotFoundError:
            return


def _create(path: Path, line: bytes) -> bool:
    """Create a claim; ``False`` if there is one."""
    with output_errors("write", path):
        while True:
            try:
                with path.open("xb") as file:
                    file.write(line)
                return True
            except FileExistsError:
                return False
            except FileNotFoundError:  # the folder is removed with the last claim of a run
                make_folders(path.parent)


def _remove(claim: Claim) -> None:
    """Remove a claim and those before it. The latest goes last, so that its shard is never free before it is given
    back; if another worker has taken the shard over, its claim stays."""
    for number in range(1, claim.number + 1):
        discard(_numbered(claim.path, number))


def _numbered(path: Path, number: int) -> Path:
    return path.with_suffix(f".{number}")
