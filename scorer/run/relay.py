"""What several workers say, passed on to one reporter."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Event, Failed, Progress, Said, Started, parse_event
from .options import Reporter


@dataclass
class EventLines:
    """Reads the events of one worker from pieces of its output."""

    _rest: bytes = b""

    def read(self, content: bytes) -> list[Event]:
        """The events of a further piece, which may end within a line."""
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [event for line in lines if (event := parse_event(line)) is not None]


@dataclass
class Relay:
    """Passes events on. The pairs that a worker computed count from its start, those for the reporter from the start of
    the run, so the counts of all workers are added up."""

    reporter: Reporter
    _pairs: dict[str, int] = field(default_factory=dict)
    _partial: dict[str, float] = field(default_factory=dict)
    _earlier: int = 0
    _announced: bool = False

    def take(self, worker: str, event: Event) -> None:
        """An event of a worker; ``worker`` names it in messages."""
        if isinstance(event, Said):
            self.reporter.say(f"{worker}: {event.message}")
        elif isinstance(event, Started):
            if not self._announced:
                self.reporter.started(event.shards, event.rows, event.skipped)
            self._announced = True
        elif isinstance(event, Progress):
            self._pairs[worker], self._partial[worker] = event.pairs, event.partial
            pairs = self._earlier + sum(self._pairs.values())
            self.reporter.progress(event.shard, event.rows, pairs, sum(self._partial.values()))
        elif isinstance(event, Failed):
            self.reporter.shard_failed(event.shard, event.reason)

    def forget(self, worker: str) -> None:
        """A worker ended; another one of the same name counts from zero."""
        self._earlier += self._pairs.pop(worker, 0)
        self._partial.pop(worker, None)
