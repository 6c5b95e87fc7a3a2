"""What a cluster tells the driver of ``--ray``, and what the driver asks of it: all that the driver knows of Ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .slots import Node, RaySlot


@dataclass(frozen=True)
class Wrote:
    """A worker wrote a piece of its output."""

    slot: RaySlot
    content: bytes


@dataclass(frozen=True)
class Ended:
    """The process of a worker ended with an exit code; all of its output has been told."""

    slot: RaySlot
    code: int


@dataclass(frozen=True)
class Refused:
    """A node cannot run a worker. ``why``: in words."""

    slot: RaySlot
    why: str


@dataclass(frozen=True)
class Died:
    """An actor died, perhaps with its node. ``why``: in words of Ray."""

    slot: RaySlot
    why: str


Message = Wrote | Ended | Refused | Died


class Cluster(Protocol):
    """A Ray cluster. An actor that has ended, was refused or died is let go."""

    def nodes(self) -> list[Node]:
        """Those that are alive."""
        ...

    def start(self, slot: RaySlot) -> None:
        """Start an actor with a worker; it begins when its node has the GPU or the processors free."""
        ...

    def listen(self, wait_s: float) -> list[Message]:
        """What happened, after at most so many seconds."""
        ...

    def waiting(self) -> list[RaySlot]:
        """Those whose actor has not begun."""
        ...
