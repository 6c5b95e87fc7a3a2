"""Candidates of one input in order: by FINE label, and within a label by confidence.

``OK`` comes first, then the less severe of the two errors, then the other, then both. Among equals the earlier
position comes first. Candidates without a label are not ranked.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .choices import Worse
from .verdict import FINE

REVISION = 1
"""Part of the signature; increased whenever the order of candidates can change."""
WORSE: Worse = "hallucination"
"""The error that counts as worse unless the user says otherwise."""
NO_CANDIDATES = "no_candidates"
CANDIDATE_ERRORS = "candidate_errors"
"""Error of a row without candidates, and note of a row of which some candidates have no label."""


def severities(worse: Worse) -> npt.NDArray[np.int8]:
    """Rank of each label in :data:`.verdict.FINE`, 0 for the best. int8, *Shape:* (4,)."""
    milder = "omission" if worse == "hallucination" else "hallucination"
    order = ("OK", milder, worse, "omission+hallucination")
    return np.array([order.index(name) for name in FINE], np.int8)


def ranked(
    owner: npt.NDArray[np.int64], fine: npt.NDArray[np.int8], confidence: npt.NDArray[np.float32], worse: Worse
) -> npt.NDArray[np.int64]:
    """Positions of the candidates that have a label: by owner, and the best of each owner first.

    Args:
        owner: int64, *Shape:* (candidates,), the row of each; rising.
        fine: int8, *Shape:* (candidates,), positions in :data:`.verdict.FINE`, -1 for none.
        confidence: float32, *Shape:* (candidates,).

    Returns:
        int64, *Shape:* (candidates with a label,).
    """
    labelled = np.flatnonzero(fine >= 0)
    keys = (-confidence[labelled], severities(worse)[fine[labelled]], owner[labelled])
    return np.asarray(labelled[np.lexsort(keys)], np.int64)  # a stable sort: equals keep their order


def best(
    offsets: npt.NDArray[np.int64], fine: npt.NDArray[np.int8], confidence: npt.NDArray[np.float32], worse: Worse
) -> npt.NDArray[np.int64]:
    """Position of each row's best candidate among all candidates, -1 where none has a label. int64, *Shape:* (rows,).

    Args:
        offsets: int64, *Shape:* (rows + 1,); row *r* owns the candidates ``offsets[r]`` to ``offsets[r + 1]``.
        fine, confidence: as for :func:`ranked`.
    """
    rows = len(offsets) - 1
    owner = np.repeat(np.arange(rows), np.diff(offsets))
    order = ranked(owner, fine, confidence, worse)
    found = np.full(rows, -1, np.int64)
    firsts, at = np.unique(owner[order], return_index=True)
    found[firsts] = order[at]
    return found
