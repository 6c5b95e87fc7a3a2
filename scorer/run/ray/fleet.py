"""The decisions of ``--ray``: which workers are started, replaced and given up. It knows nothing of Ray."""

from __future__ import annotations

from collections.abc import Sequence

from .slots import Demand, Node, RaySlot, slots_of

MOST_DEATHS = 3
"""A worker that died so often in a row, without having scored anything, is not replaced any more."""
_PAUSE_S = 2.0
"""Before a worker is replaced: Ray learns within this time that the node is gone too."""


class Fleet:
    """The workers of one run. A slot is known by its node and number; a node that comes back has another id."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._running: dict[tuple[str, int], RaySlot] = {}
        self._deaths: dict[tuple[str, int], int] = {}
        self._not_before: dict[tuple[str, int], float] = {}
        self._given_up: set[tuple[str, int]] = set()

    @property
    def running(self) -> list[RaySlot]:
        return list(self._running.values())

    def to_start(self, nodes: Sequence[Node], now: float) -> list[RaySlot]:
        """The slots that have no worker and are to have one; they count as running from now on.

        Args:
            nodes: those that are alive.
            now: seconds on a clock that does not go back.
        """
        chosen = [
            slot
            for slot in slots_of(nodes, self._demand)
            if (key := _key(slot)) not in self._running
            and key not in self._given_up
            and now >= self._not_before.get(key, now)
        ]
        self._running.update({_key(slot): slot for slot in chosen})
        return chosen

    def scored(self, slot: RaySlot) -> None:
        """A worker has scored rows, so it is not one that always dies."""
        self._deaths.pop(_key(slot), None)

    def ended(self, slot: RaySlot) -> None:
        """A worker has ended, and is not replaced: at the end of the run, or for an error that would come again."""
        self._running.pop(_key(slot), None)
        self._given_up.add(_key(slot))

    def died(self, slot: RaySlot, now: float) -> bool:
        """A worker has died; whether it is replaced, if its node is still there."""
        key = _key(slot)
        self._running.pop(key, None)
        self._deaths[key] = self._deaths.get(key, 0) + 1
        self._not_before[key] = now + _PAUSE_S
        if self._deaths[key] >= MOST_DEATHS:
            self._given_up.add(key)
        return key not in self._given_up

    def again(self, slot: RaySlot) -> None:
        """A worker did not begin, through no fault of its own."""
        self._running.pop(_key(slot), None)

    def has_places(self, nodes: Sequence[Node]) -> bool:
        """Whether any node has room for a worker, given up or not."""
        return bool(slots_of(nodes, self._demand))

    def may_start(self, nodes: Sequence[Node]) -> bool:
        """Whether a slot is left that was not given up."""
        return any(_key(slot) not in self._given_up for slot in slots_of(nodes, self._demand))


def _key(slot: RaySlot) -> tuple[str, int]:
    return slot.node, slot.number
