"""The rates of one output as one value, which the console and ``--json`` show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...scoring.rates_file import RatesFile
from ...stats.post_stratified import ClassShare
from ...system.formats import RATES_SCHEMA
from .calibration import SHIFTED, Holding, Transfer, shift
from .estimates import Interval, TrueRate
from .population import Population


@dataclass(frozen=True)
class RateReport:
    """``rates``: from labels of this output. ``transferred``: from those of ``earlier``, where there are no others.
    ``holding``: whether the labels agree with those of ``earlier``."""

    population: Population
    rates: Sequence[TrueRate]
    transferred: Sequence[Transfer]
    by: str | None
    holding: Sequence[Holding]
    earlier: RatesFile | None

    @property
    def shift(self) -> float | None:
        """How far the confidences moved since the earlier run; ``None`` without one, or where it is not known."""
        return shift(self.population, self.earlier) if self.earlier is not None else None

    @property
    def shifted(self) -> bool:
        """Whether they moved so far that the calibration is in doubt."""
        found = self.shift
        return found is not None and found >= SHIFTED

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "schema": RATES_SCHEMA,
            "path": self.population.name,
            "signature": self.population.scored.signature,
            "finished": self.population.scored.finished,
            "rows": len(self.population),
            "by": self.by,
            "rates": [_rate(rate) for rate in self.rates],
            "transferred": [
                {**asdict(one), "classes": [_class(part) for part in one.classes]} for one in self.transferred
            ],
            "holding": [asdict(one) for one in self.holding],
            "shift": self.shift,
            "calibration": self.earlier.out if self.earlier is not None else None,
        }


def _rate(rate: TrueRate) -> dict[str, Any]:
    return {
        "rate": rate.rate,
        "group": rate.group,
        "rows": rate.rows,
        "labels": rate.labels,
        "metric": rate.metric,
        "metric_inside": rate.metric_inside,
        "true": _interval(rate.true),
        "labels_alone": _interval(rate.labels_alone),
        "alone_for_same_width": rate.alone_for_same_width,
        "saved": rate.saved,
        "more_to_halve": rate.more_to_halve,
        "classes": [_class(one) for one in rate.classes],
    }


def _interval(found: Interval) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def _class(one: ClassShare) -> dict[str, Any]:
    size = one.size if math.isfinite(one.size) else None
    return {"predicted": one.predicted, "weight": one.weight, "value": one.value, "size": size, "labels": one.labels}
