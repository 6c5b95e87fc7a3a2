"""An engine whose answers are those of fp32: pairs that are too close to call run again.

See :mod:`.exact` for the bound and why it suffices.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..status import SCORED
from .batches import Work
from .engine import Answers, Engine
from .exact import PAIRS, ExactBound, bound_of, doubtful


class ExactEngine:
    """A fast variant, with the fp32 variant of the same bundle for doubtful pairs.

    Args:
        engine: opened with ``exact``, so that the fp32 variant is there and was tried.
        bound: by how much the fast variant strays from fp32; measured on the first pairs to run when ``None``.
    """

    def __init__(self, engine: Engine, bound: ExactBound | None = None) -> None:
        self._engine = engine
        self._bound = bound

    @property
    def bound(self) -> ExactBound | None:
        """The bound in use; ``None`` before anything ran."""
        return self._bound

    def prepare(self, texts: Sequence[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]) -> Work:
        """See :meth:`scorer.inference.engine.Engine.prepare`."""
        return self._engine.prepare(texts, premise, hypothesis)

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        """See :meth:`scorer.inference.engine.Engine.run`."""
        logits = self._engine.run_batches(work, stop)
        if self._bound is None:
            self._bound = self.measure(work)
        chosen = np.flatnonzero(
            (work.status == SCORED) & doubtful(logits, self._bound.margin, self._engine.bundle.scheme)
        )
        self._engine.run_fp32(work, chosen, logits, stop)
        return self._engine.answers(work, logits)

    def measure(self, work: Work, limit: int = PAIRS, before: ExactBound | None = None) -> ExactBound:
        """The bound as up to ``limit`` pairs of a window show it, spread evenly over lengths.

        Args:
            before: the bound of other pairs, which the result includes.
        """
        chosen = np.flatnonzero(work.status == SCORED)
        if len(chosen) > limit:
            order = chosen[np.argsort(work.lengths[chosen], kind="stable")]
            chosen = np.sort(order[np.linspace(0, len(order) - 1, limit).astype(int)])
        some = self._engine.select(work, chosen)
        fp32 = np.full((len(work.pairs), self._engine.bundle.scheme.width), np.nan, np.float32)
        fast = self._engine.run_batches(some)
        self._engine.run_fp32(some, chosen, fp32)
        return bound_of(fast[chosen], fp32[chosen], self._engine.least_bound, before)

    def give_up(self) -> None:
        """See :meth:`scorer.inference.engine.Engine.give_up`."""
        self._engine.give_up()
