"""Isotonic regression by pooling adjacent violators (Ayer et al., Annals of Mathematical Statistics 26, 1955)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The closest ascending values by weighted squares. *Shape:* (n,) each; weights are positive."""
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while means and means[-1] >= mean:
            before, size = means.pop(), masses.pop()
            mean = (before * size + mean * mass) / (size + mass)
            mass, count = mass + size, count + counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return np.repeat(np.array(means, np.float64), counts)
