"""The state of a row in one byte: its FINE label, whether its text is blank, and whether a number in it is in no fact.

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
STATES = 4 * _LABELS
FINE_OF = np.tile(np.arange(-1, len(FINE), dtype=np.int8), 4)
"""Label of each state: position in :data:`scorer.metric.verdict.FINE`, -1 without one. int8, *Shape:* (STATES,)."""
BLANK = np.arange(STATES) // _LABELS % 2 == 1
"""States of rows with a blank text. bool, *Shape:* (STATES,)."""
UNSUPPORTED = np.arange(STATES) >= 2 * _LABELS
"""States of rows with ``unsupported_numbers``. bool, *Shape:* (STATES,)."""


def states_of(fine: npt.NDArray[np.int8], blank: Bools, unsupported: Bools | bool = False) -> npt.NDArray[np.uint8]:
    """States of rows: ``fine`` as in :data:`FINE_OF`. *Shape:* (rows,) each."""
    return (fine + 1 + _LABELS * blank + 2 * _LABELS * unsupported).astype(np.uint8)


def labels(counts: Counts) -> list[int]:
    """Rows by FINE label, from rows by state, *Shape:* (STATES,)."""
    return [int(counts[code == FINE_OF].sum()) for code in range(len(FINE))]


def rate_states(errors: Policy, omissions_checked: bool, numbers_checked: bool) -> dict[str, tuple[Bools, Bools]]:
    """Which states count for each of :data:`scorer.audit.document.RATES`, and which of them are hits.

    bool, *Shape:* (STATES,) each. None counts for omissions, or for unsupported numbers, where the run did not look for
    them.
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
        "unsupported_numbers_rate": (labelled & numbers_checked, labelled & UNSUPPORTED & numbers_checked),
    }
