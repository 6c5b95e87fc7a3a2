"""Claims of shards in an object store; see :mod:`scorer.storage.claims` for what a claim is.

A claim is one object ``_claims/<digest of the shard's path>``, created where there is none, and renewed and taken over
under the condition that it is still the version that was seen. Its age is measured on the store's clock. A worker
sees that another one has crashed if both run on one machine: its card names its process. A claim of any other worker
that gives no sign of life is free too, and counts as expired.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

from ...system.closing import Closing
from ...system.process_marks import has_ended
from ..claims import ClaimLostError, HeldClaim, StandingClaim, key
from ..durable import crash_point
from ..lease import EXPIRY_S
from ..lock_files import parsed
from ..workers import CLAIMS
from .presence import StoreClock, card_name, silences
from .store import ObjectStore, Stored, StoreError
from .uri import StoreUri

_DIGEST = 32


@dataclass(frozen=True)
class StoreClaim(HeldClaim):
    """A claim that this process holds. ``lost``: set when another worker has taken it over."""

    lost: threading.Event = field(default_factory=threading.Event, compare=False)

    def check(self) -> None:
        """See :class:`.HeldClaim`; no request is made: what is published under a lost claim, the store refuses."""
        if self.lost.is_set():
            raise ClaimLostError(f"{self.relative}: another worker took it over, since no batch was finished in time")


class StandingClaims:
    """Reads the claims that stand; each version of one is read once."""

    def __init__(self, store: ObjectStore, out: StoreUri) -> None:
        self._store, self._out = store, out
        self._lines: dict[str, tuple[str, Mapping[str, object]]] = {}
        self.versions: dict[str, str] = {}
        self._marks: dict[str, object] = {}

    def read(self, now: float) -> Mapping[str, StandingClaim]:
        """The claims by :func:`.claims.key`; one listing.

        Raises:
            StoreError: the store refuses.
        """
        return self.of(list(self._store.below(self._out.key(CLAIMS))), now)

    def of(self, listed: list[Stored], now: float) -> Mapping[str, StandingClaim]:
        """The claims in a listing of ``_claims/``."""
        cards = silences(listed, now)
        found: dict[str, StandingClaim] = {}
        for one in listed:
            digest = one.key.rpartition("/")[2]
            if len(digest) != _DIGEST:
                continue
            version, line = self._lines.get(digest, ("", MappingProxyType({})))
            if version != one.e_tag:
                content = self._store.read(one.key)
                if content is None:
                    continue  # given back a moment ago
                line, version = parsed(content[0]), content[1]
                self._lines[digest] = version, line
            self.versions[digest] = version
            worker = str(line.get("worker", ""))
            crashed = worker in cards and self._has_crashed(worker)
            found[digest] = StandingClaim(
                str(line.get("relative", "")),
                _count(line, "number"),
                worker,
                _count(line, "crashes"),
                _count(line, "expiries"),
                max(0.0, now - one.modified),
                ended=crashed or (bool(worker) and cards.get(worker, EXPIRY_S + 1) > EXPIRY_S),
                crashed=crashed,
            )
        return found

    def living(self, listed: list[Stored], now: float) -> set[str]:
        """The tokens of the workers with a card in a listing of ``_claims/`` that give signs of life."""
        cards = silences(listed, now)
        return {token for token, silent_s in cards.items() if silent_s <= EXPIRY_S and not self._has_crashed(token)}

    def _has_crashed(self, token: str) -> bool:
        """Whether the process of a worker has certainly ended; its card is read once."""
        if token not in self._marks:
            found = self._store.read(self._out.key(card_name(token)))
            self._marks[token] = parsed(found[0]).get("process") if found is not None else None
        return has_ended(self._marks[token])


class StoreClaims(Closing):
    """The claims of one worker in a store, which are given back when the context ends. Threads may share it.

    Args:
        token: of the worker. lease_s: seconds after which a claim that was not renewed has expired.
    """

    def __init__(self, store: ObjectStore, out: StoreUri, token: str, lease_s: float, clock: StoreClock) -> None:
        self._store, self._out, self._token, self._lease_s, self._clock = store, out, token, lease_s, clock
        self._standing = StandingClaims(store, out)
        self._held: dict[str, tuple[StoreClaim, str, float]] = {}  # with its version, and when it was written
        self._guard = threading.Lock()
        self._closed = False

    def standing(self) -> Mapping[str, StandingClaim]:
        """The claim of every shard that has one, by :func:`.claims.key`; one listing."""
        return self._standing.read(self._clock.now())

    def take(self, relative: str, over: StandingClaim | None) -> StoreClaim | None:
        """Claim a shard; ``None`` if another worker was faster. The caller then looks whether the shard is done.

        Args:
            over: the claim that is taken over, which must be free, if there is one.

        Raises:
            StoreError: the claim cannot be written.
        """
        claim = StoreClaim(relative, 1)
        if over is not None:
            crashes, expiries = over.crashes + over.crashed, over.expiries + (not over.crashed)
            claim = StoreClaim(relative, over.number + 1, crashes, expiries)
        with self._guard:
            if self._closed:
                return None
            when = time.monotonic()
            if over is None:
                version = self._store.put_new(self._key(relative), self._line(claim))
            else:
                seen = self._standing.versions.get(key(relative), "")
                version = self._store.put_over(self._key(relative), self._line(claim), seen)
            if version is None:
                return None
            crash_point("claim.uploaded")
            self._held[relative] = claim, version, when
        return claim

    def renew(self) -> None:
        """Renew all claims that this worker holds; called after a finished batch."""
        with self._guard:
            for relative, (claim, version, _) in list(self._held.items()):
                when = time.monotonic()
                renewed = self._store.put_over(self._key(relative), self._line(claim), version)
                if renewed is None:
                    claim.lost.set()
                    del self._held[relative]
                else:
                    self._held[relative] = claim, renewed, when

    def confirm(self, claim: HeldClaim) -> None:
        """Ask the store whether a claim is still held; for the rare case that somebody else has written its output.

        Raises:
            ClaimLostError: it is not.
        """
        claim.check()
        with self._guard:
            held = self._held.get(claim.relative)
            seen = self._store.head(self._key(claim.relative))
            if held is None or seen is None or seen.e_tag != held[1]:
                raise ClaimLostError(f"{claim.relative}: another worker took it over, since no batch was finished in "
                                     "time")  # fmt: skip

    def give_back(self, claim: HeldClaim) -> None:
        """Let go of a shard: it is done, set aside, or for another worker."""
        with self._guard:
            if (held := self._held.pop(claim.relative, None)) is not None:
                self._remove(*held)

    def close(self) -> None:
        """Give all claims back and take no more."""
        with self._guard:
            self._closed = True
            while self._held:
                with suppress(StoreError):  # it expires
                    self._remove(*self._held.popitem()[1])

    def _remove(self, claim: StoreClaim, version: str, when: float) -> None:
        key = self._key(claim.relative)
        # No deletion has a condition. So a claim that may have expired is looked at first.
        if time.monotonic() - when > self._lease_s / 2:
            seen = self._store.head(key)
            if seen is None or seen.e_tag != version:
                return
        self._store.delete([key])

    def _key(self, relative: str) -> str:
        return self._out.key(f"{CLAIMS}/{key(relative)}")

    def _line(self, claim: StoreClaim) -> bytes:
        """The content of a claim; no two are equal, so that no version of the object comes back."""
        line = {"relative": claim.relative, "worker": self._token, "number": claim.number, "crashes": claim.crashes,
                "expiries": claim.expiries, "beat": secrets.token_hex(8)}  # fmt: skip
        return json.dumps(line).encode("ascii")


def _count(line: Mapping[str, object], name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) else 0
