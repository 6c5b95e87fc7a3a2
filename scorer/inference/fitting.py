"""Batches that may not fit the memory of the device: smaller calls, then a new session.

What did not fit once is not tried again: later batches are cut from the start. The call after a failure gives the
unused memory of the runtime's arena back to the device, since what the arena holds in pieces cannot serve a larger
request. Where the smallest call does not fit, the session is opened again, once, and after that the pair has no answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..status import OUT_OF_MEMORY
from .batches import Batch
from .calls import OutOfMemoryError
from .layouts import Feed, Layout
from .model_session import ModelSession
from .work import Work


class Fitting:
    """The batches of one session.

    Args:
        session: what computes them.
        layout: how their inputs are put together, and how a batch becomes smaller ones.
        warn: told when a batch did not fit.
    """

    def __init__(self, session: ModelSession, layout: Layout, warn: Callable[[str], None]) -> None:
        self.session = session
        self.layout = layout
        self._warn = warn
        self._limit: int | None = None
        self._failed = False

    def feed(self, batch: Batch, work: Work) -> Feed:
        """The inputs of a batch's call, as the session names them."""
        made = self.layout.assemble(batch, work)
        return {name: made[name] for name in self.session.inputs}

    def compute(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], feed: Feed | None = None) -> None:
        """Write the logits of a batch's pairs, float32, *Shape:* (pairs, 3); what does not fit gets a status instead.

        Args:
            feed: of :meth:`feed`, where it was put together beforehand.
        """
        if self._limit is not None and batch.tokens > self._limit:
            smaller = self.layout.smaller(batch, work.lengths)
            if smaller:
                self._each(smaller, work, logits)
                return
        if feed is None:
            feed = self.feed(batch, work)
        try:
            logits[batch.pairs] = self._call(feed, batch)
        except OutOfMemoryError:
            self._shrink(batch, work, logits)

    def _shrink(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32]) -> None:
        self._failed = True
        on = self.session.device
        smaller = self.layout.smaller(batch, work.lengths)
        if smaller:
            self._limit = batch.tokens // 2
            self._warn(
                f"a batch of {len(batch.pairs)} pairs of up to {batch.sequence_length} tokens does not fit {on}; from "
                f"here on batches have at most {self._limit} tokens"
            )
            self._each(smaller, work, logits)
        elif self.session.reopen():
            self._warn(f"a batch of {batch.tokens} tokens does not fit {on}; the session was opened again")
            self.compute(batch, work, logits)
        else:
            work.status[batch.pairs] = OUT_OF_MEMORY
            self._warn(f"a pair of {batch.sequence_length} tokens does not fit the memory of {on}")

    def _each(self, batches: list[Batch], work: Work, logits: npt.NDArray[np.float32]) -> None:
        for batch in batches:
            self.compute(batch, work, logits)

    def _call(self, feed: Feed, batch: Batch) -> npt.NDArray[np.float32]:
        after_failure, self._failed = self._failed, False
        found = self.session.run(feed, batch.rows, shrink=after_failure)
        return found[: len(batch.pairs)]
