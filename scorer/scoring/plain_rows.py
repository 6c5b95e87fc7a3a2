"""A base for row scorers that need no model: one window after the other, in the thread that asks."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Generic

from ..errors import ScorerError, UsageError
from ..storage import Counts
from ..storage.location import Location
from .origin import Device, Origin
from .plan import Budgets
from .reuse import Reuse
from .row_scorer import Caveats, Known, Report, Starts
from .signature import Signature
from .summary import Speed
from .windows import Columns, FailedWindow, Mark, ScoredWindow, Tag, Window


class PlainRows(ABC, Generic[Columns]):
    """A row scorer whose scores depend on the rows and its signature alone: on no device, budget or earlier output.

    Args:
        signature: changes whenever a score can change, so that a run scores old outputs again.
    """

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._seconds = {"read": 0.0, "score": 0.0}
        self._computed = 0

    @abstractmethod
    def score(self, window: Window[Tag, Columns]) -> ScoredWindow[Tag]:
        """Score a window: its rows in their order, the kept columns, then the output columns.

        Raises:
            ScorerError: it cannot be scored; its shard is quarantined with the reason.
        """

    @property
    def signature(self) -> Signature:
        return self._signature

    @property
    def budgets(self) -> Budgets:
        return Budgets()

    @property
    def provider(self) -> str:
        return ""

    @property
    def origin(self) -> Origin:
        return Origin(Device("cpu", ""), "", 0.0, 0.0)

    @property
    def caveats(self) -> Caveats:
        return Caveats()

    @property
    def versions(self) -> Mapping[str, str]:
        return {}

    @property
    def computed(self) -> int:
        """Rows scored so far."""
        return self._computed

    @property
    def seconds(self) -> Mapping[str, float]:
        return self._seconds

    def warm_up(self, earlier: Known | None, starts: Starts[Columns]) -> PlainRows[Columns]:
        """Nothing has to be known before."""
        return self

    def open_reuse(self, earlier: Sequence[Location]) -> Reuse:
        """Refuse: labels are taken over by what the metric records of its checks.

        Raises:
            UsageError: always.
        """
        name = self._signature.line.partition("|")[0]
        raise UsageError(f"--reuse {earlier[0]}: {name} takes over no labels of earlier outputs; remove --reuse")

    def stream(
        self, items: Iterable[Window[Tag, Columns] | Mark], reuse: Reuse | None, tick: Callable[[Tag, float], None]
    ) -> Generator[ScoredWindow[Tag] | FailedWindow[Tag] | Mark, None, None]:
        """See :meth:`.row_scorer.RowScorer.stream`."""
        source = iter(items)
        while True:
            started = time.perf_counter()
            item = next(source, None)
            self._seconds["read"] += time.perf_counter() - started
            if item is None:
                return
            if not isinstance(item, Window):
                yield item
                continue
            started = time.perf_counter()
            scored: ScoredWindow[Tag] | FailedWindow[Tag]
            try:
                scored = self.score(item)
                self._computed += len(item.table)
            except ScorerError as error:
                scored = FailedWindow(item.tag, error)
            self._seconds["score"] += time.perf_counter() - started
            yield scored

    def warnings(self, counts: Counts) -> Sequence[str]:
        """Nothing to say."""
        return ()

    def report(self, counts: Counts, seconds: float) -> Report:
        return Report(Speed.of(counts, seconds))
