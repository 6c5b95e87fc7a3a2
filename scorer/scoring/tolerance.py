"""When two probabilities of the same check agree: the one tolerance for audit, explain and rechecked rows.

What is measured are bounds on logits: how far a logit may move with the other pairs of a batch, with the precision or
with the provider. If no logit moves by more than d, no softmax probability moves by more than d/2, since the absolute
entries of a row of its Jacobian sum to 2p(1 - p).
"""

from __future__ import annotations

ROUNDING = 1e-6
"""Probabilities are stored as float32."""


def allowed_difference(*logit_bounds: float) -> float:
    """The largest |Δ probability| that bounds on logits explain, rounding aside.

    Args:
        logit_bounds: how far each of the two sides may be from the value that they share.
    """
    return 0.5 * sum(logit_bounds)


def agree(one: float, other: float, allowed: float) -> bool:
    """Whether two stored probabilities differ by no more than ``allowed`` and rounding; never true of NaN."""
    return is_within(abs(one - other), allowed)


def is_within(difference: float, allowed: float) -> bool:
    """Whether |Δ probability| is no more than ``allowed`` and rounding; never true of NaN."""
    return difference <= allowed + ROUNDING
