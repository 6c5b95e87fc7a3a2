"""What can be seen of a run in an object store; see :mod:`scorer.storage.run_view`."""

from __future__ import annotations

from collections.abc import Mapping

from ...system.json_fields import Fields
from ..canonical import digest
from ..claims import StandingClaim
from ..finished import PLAN, SUCCESS, plan_fields
from ..workers import CLAIMS, WorkerLine
from .claims import StandingClaims
from .presence import live_workers, store_time
from .receipts import StoreReceipts, parsed_json
from .store import ObjectStore
from .uri import StoreUri


class StoreView:
    """A run as it is when this object is made; receipts are read when they are asked for.

    ``plan``: its fields and when it was written, ``None`` where there is none that can be read.

    Raises:
        StoreError: the store refuses. OutputError: a newer version wrote the plan.
    """

    def __init__(self, out: StoreUri) -> None:
        store = ObjectStore.open(out, patient=False)
        self.receipts = StoreReceipts(store, out)
        self.plan: tuple[Fields, float] | None = None
        self.claims: Mapping[str, StandingClaim] = {}
        self.workers: tuple[WorkerLine, ...] = ()
        self.finished = False
        stored, found = store.head(out.key(PLAN)), store.read(out.key(PLAN))
        content = parsed_json(found[0]) if found is not None else None
        fields = plan_fields(content, str(out.below(PLAN)))
        if stored is None or fields is None:
            return
        self.plan = fields, stored.modified
        marker = store.read(out.key(SUCCESS))
        self.finished = marker is not None and digest(content).encode("ascii") == marker[0]
        listed = list(store.below(out.key(CLAIMS)))
        if listed:
            now = store_time(store, out)
            self.claims = StandingClaims(store, out).of(listed, now)
            self.workers = tuple(live_workers(store, out, listed, now))
        self.receipts.refresh()
