"""What a run over shards drives: rows in, the same rows with output columns out, and a signature of the scores.

The metric (:mod:`.metric_rows`) is one row scorer; another metric is another. A run knows
nothing else of them: the plan, receipts, resuming, quarantined shards and the summary are the same for all.
:class:`.plain_rows.PlainRows` is a base for those that need no model.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from ..inference.engine import ExactBound
from ..storage import Counts
from ..storage.location import Location
from .origin import Origin
from .plan import Budgets
from .reuse import Reuse
from .signature import Signature
from .summary import Speed
from .windows import Columns, FailedWindow, Mark, ScoredWindow, Tag, Window

Starts = Sequence[Iterable[Window[None, Columns]]]
"""The first rows of some shards, spread evenly over a run, each read when it is iterated over; a shard that cannot be
read gives fewer windows."""


class Known(Protocol):
    """What an earlier run, or another process, found out: a :class:`.plan.Plan`, for example."""

    @property
    def signature(self) -> Signature: ...

    @property
    def provider(self) -> str: ...

    @property
    def budgets(self) -> Budgets: ...


@dataclass(frozen=True)
class Report:
    """What a row scorer says of a run at its end, for ``_run.json``; see :class:`.summary.RunSummary`."""

    speed: Speed
    exact: ExactBound | None = None
    bound: float | None = None
    invariance_error: float | None = None


@dataclass(frozen=True)
class Caveats:
    """Why labels should not be trusted, as the bundle says: its weights are random, or ``--force`` overrode the
    reasons in ``forced`` when it was exported."""

    random_weights: bool = False
    forced: tuple[str, ...] = ()


class RowScorer(Protocol[Columns]):
    """A row scorer that is open; the caller that opened it closes it."""

    @property
    def signature(self) -> Signature:
        """What the scores depend on. A shard whose receipt has another one is scored again."""
        ...

    @property
    def budgets(self) -> Budgets:
        """What it cuts its work by, so that a resume computes the same bytes; those of the window are the run's."""
        ...

    @property
    def provider(self) -> str:
        """The execution provider; part of the plan, and empty where there is none."""
        ...

    @property
    def origin(self) -> Origin:
        """Where it computes, and how far its numbers stray there."""
        ...

    @property
    def caveats(self) -> Caveats:
        """Kept in ``_run.json``, where the audit reads it."""
        ...

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of the packages that its scores pass through."""
        ...

    @property
    def computed(self) -> int:
        """Units of work done so far (pairs, for the metric), for progress."""
        ...

    @property
    def seconds(self) -> Mapping[str, float]:
        """Busy host seconds so far, by stage."""
        ...

    def warm_up(self, earlier: Known | None, starts: Starts[Columns]) -> RowScorer[Columns]:
        """Find out what must be known before the plan is written. Returns the row scorer to go on with.

        Args:
            earlier: what is known, from the plan of an earlier run into the same folder for example.
        """
        ...

    def open_reuse(self, earlier: Sequence[Location]) -> Reuse:
        """Open earlier outputs, whose labels are taken over.

        Raises:
            UsageError: this row scorer cannot take labels over.
            OutputError: a plan or a receipt is there and cannot be read.
        """
        ...

    def stream(
        self, items: Iterable[Window[Tag, Columns] | Mark], reuse: Reuse | None, tick: Callable[[Tag, float], None]
    ) -> Generator[ScoredWindow[Tag] | FailedWindow[Tag] | Mark, None, None]:
        """Score windows in order; each :class:`Mark` is passed on in its place.

        The output has the rows of the window in their order, its kept columns, then the output columns.

        Args:
            reuse: what :meth:`open_reuse` gave.
            tick: to be called about once a second while a window is computed, for progress, with the window's tag and
                how many of its rows the work done so far amounts to.
        """
        ...

    def warnings(self, counts: Counts) -> Sequence[str]:
        """What a user should know after the first window, of which these are the counts."""
        ...

    def report(self, counts: Counts, seconds: float) -> Report:
        """What to say at the end.

        Args:
            counts: of the shards that were scored now.
            seconds: from the first window to the last receipt.
        """
        ...


class RowScoring(Protocol[Columns]):
    """How rows are to be scored. A run looks at its inputs first, and opens the row scorer then."""

    def find_columns(self, schema: pa.Schema) -> Columns:
        """Find the columns of a shard.

        Raises:
            ColumnError: the shard cannot be scored; it is quarantined with the reason.
        """
        ...

    def open(self, budgets: Budgets) -> AbstractContextManager[RowScorer[Columns]]:
        """Open the row scorer with the budgets of an earlier plan, where there are some."""
        ...

    def to_plan(self) -> Mapping[str, object]:
        """The settings, as the plan records them."""
        ...
