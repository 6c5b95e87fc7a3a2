"""The state of a row in one byte: its FINE label and whether its text is blank.

Every rate counts states.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE

Policy = Literal["not-ok", "excluded"]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

_LABELS = len(FINE) + 1  # and none, of an error row
STATES = 2 * _LABELS
FINE_OF = np.tile(np.arange(-1, len(FINE), dtype=np.int8), 2)
"""Label of each state: position in :data:`scorer.metric.verdict.FINE`, -1 without one. int8, *Shape:* (STATES,)."""
BLANK = np.arange(STATES) >= _LABELS
"""States of rows with a blank text. bool, *Shape:* (STATES,)."""


def states_of(fine: npt.NDArray[np.int8], blank: Bools) -> npt.NDArray[np.uint8]:
    """States of rows: ``fine`` as in :data:`FINE_OF`. *Shape:* (rows,) each."""
    return (fine + 1 + _LABELS * blank).astype(np.uint8)


def labels(counts: Counts) -> list[int]:
    """Rows by FINE label, from rows by state, *Shape:* (STATES,)."""
    return [int(counts[code == FINE_OF].sum()) for code in range(len(FINE))]


def rate_states(errors: Policy, omissions_checked: bool) -> dict[str, tuple[Bools, Bools]]:
    """Which states count for each of :data:`scorer.audit.document.RATES`, and which of them are hits.

    bool, *Shape:* (STATES,) each. None counts for omissions where the run did not look for them.
    """
    labelled = FINE_OF >= 0
    every = np.ones(STATES, bool)
    counted = every if errors == "not-ok" else labelled
    looked = np.full(STATES, omissions_checked)
    return {
        "not_ok_rate": (counted, (FINE_OF != 0) & counted),
        "omission_rate": (counted & looked, labelled & ((FINE_OF & 1) == 1) & looked),
        "hallucination_rate": (counted, labelled & ((FINE_OF & 2) == 2)),
        "error_rate": (every, ~labelled),
        "empty_rate": (every, BLANK),
    }
