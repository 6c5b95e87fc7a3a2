"""How many rows to draw from each stratum, and which: stratified sampling with known probabilities.

Neyman (1934) divides a sample so that the variance of the estimate is smallest: in proportion to the rows of a stratum
times the standard deviation in it. Within a stratum, rows are drawn systematically from a sorted list, so that every
group of the sort key gets its share, and every row has the same probability.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST = 2
"""Labels of a stratum that has as many rows: fewer have no variance."""


def allocate(rows: Ints, deviations: Floats, labels: int, least: Ints | int = LEAST) -> Ints:
    """Labels of each stratum by Neyman's rule, at least ``least`` and at most its rows. *Shape:* (strata,), int64.

    The sum is ``labels``, or the number of rows if that is smaller; the least of every stratum is given first, so it
    can be more where ``labels`` does not suffice for that.
    """
    least = np.minimum(least, rows)
    found = least.astype(np.int64)
    share = rows * np.maximum(deviations, 1e-9)
    for _ in range(max(0, min(labels, int(rows.sum())) - int(found.sum()))):
        # One label at a time to the stratum that is furthest below its share (Sainte-Laguë's divisor).
        found[int(np.argmax(np.where(found < rows, share / (found + 0.5), -1.0)))] += 1
    return found


def draw(rng: np.random.Generator, order: Ints, count: int) -> Ints:
    """``count`` entries of a sorted list, at equal distances from a random start; each has the same probability.

    Args:
        order: row numbers, sorted so that rows of one group are neighbours and otherwise shuffled. *Shape:* (rows,).
    """
    if not 0 < count < len(order):
        return order[:count]
    step = len(order) / count
    positions = np.floor(rng.random() * step + step * np.arange(count)).astype(np.int64)
    return order[np.minimum(positions, len(order) - 1)]
