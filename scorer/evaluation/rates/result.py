"""The rates of one output as one value, which the console and ``--json`` show."""

from __future__ import annotations

from ...system.codec import Record
from ...system.formats import RATES_SCHEMA
from .calibration import SHIFTED, Holding, Transfer
from .estimates import Agreement, Difference, TrueRate


class RateReport(Record, frozen=True, kw_only=True):
    """``rates``: from labels of this output. ``differences``: of groups. ``agreement``: of rows labelled twice.
    ``transferred``: from labels of the earlier output ``calibration``, where there are no others. ``holding``: whether
    the labels agree with those of it. ``shift``: how far the confidences moved since then (population stability
    index), ``None`` where that is not known."""

    schema: int = RATES_SCHEMA
    path: str
    signature: str | None
    finished: bool
    rows: int
    by: str | None
    rates: list[TrueRate]
    differences: list[Difference]
    agreement: list[Agreement]
    transferred: list[Transfer]
    holding: list[Holding]
    shift: float | None
    calibration: str | None

    @property
    def shifted(self) -> bool:
        """Whether the confidences moved so far that the calibration is in doubt."""
        return self.shift is not None and self.shift >= SHIFTED
