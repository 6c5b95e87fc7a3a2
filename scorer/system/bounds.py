"""The bound of ``--exact``: the engine measures it, and plans and ``_run.json`` record it."""

from __future__ import annotations

from .codec import Count, Magnitude, Record


class ExactBound(Record, frozen=True):
    """The largest difference between the logits of a variant and of fp32, measured on the data of a run.

    Attributes:
        pairs: number of pairs that it was measured on.
        largest: largest |Δlogit| of these pairs between the variant and fp32.
    """

    pairs: Count
    largest: Magnitude
