"""Where labels were computed, how far numbers stray there, and how far two probabilities of one check may be apart.

What is measured are bounds on logits: how far a logit may move with the other pairs of a batch, with the precision or
with the provider. If no logit moves by more than d, no softmax probability moves by more than d/2, since the absolute
entries of a row of its Jacobian sum to 2p(1 - p).
"""

from __future__ import annotations

from ..system.codec import Count, Magnitude, OpenRecord

ROUNDING = 1e-6
"""Probabilities are stored as float32."""


class Device(OpenRecord, frozen=True):
    """What computed: kind, name and threads. ``threads``: ``None`` where the runtime chooses them."""

    kind: str
    name: str
    threads: Count | None = None

    @property
    def words(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".strip()


class Origin(OpenRecord, frozen=True):
    """Where labels were computed, and how far logits stray there; kept in ``_run.json`` as ``origins``.

    ``runtime``: version of ONNX Runtime. ``bound``: largest |Δlogit| against the
    checkpoint's fp32; ``invariance_error``: with the other pairs of a batch. See
    :class:`scorer.inference.verify.DeviceFacts`. ``exact``: the margin below which pairs ran again in fp32, if they
    did; it is measured on the data of each run, so a pair may come from another variant than in an earlier run.
    """

    device: Device
    runtime: str
    bound: Magnitude
    invariance_error: Magnitude
    exact: Magnitude | None = None


def allowed_difference(*logit_bounds: float) -> float:
    """The largest |Δ probability| that bounds on logits explain, rounding aside.

    Args:
        logit_bounds: how far each of the two sides may be from the value that they share.
    """
    return 0.5 * sum(logit_bounds)


def is_within(difference: float, allowed: float) -> bool:
    """Whether |Δ probability| is no more than ``allowed`` and rounding; never true of NaN."""
    return difference <= allowed + ROUNDING
