"""Where labels were computed, and how far numbers stray there."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import OutputError
from ..system.json_fields import Fields

NOISE = 1e-4
"""|Δlogit| below which a difference is not reported. That a pair's numbers do not depend on its batch was measured on
probes, and a row may be the first to differ in its last bits; a label that was changed or mixed up differs by far
more."""


@dataclass(frozen=True)
class Device:
    """What computed: kind, name and threads. ``threads``: ``None`` where a run did not record them."""

    kind: str
    name: str
    threads: int | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {"kind": self.kind, "name": self.name, "threads": self.threads}

    @classmethod
    def from_json(cls, found: Fields) -> Device:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(found.text("kind"), found.text("name"), found.optional_count("threads"))


@dataclass(frozen=True)
class Origin:
    """Where labels were computed, and how far logits stray there; kept in ``_run.json`` as ``origins``.

    ``runtime``: version of ONNX Runtime. ``bound``: largest |Δlogit| against the
    checkpoint's fp32; ``invariance_error``: with the other pairs of a batch. See
    :class:`scorer.inference.verify.DeviceFacts`. ``exact``: the margin below which pairs ran again in fp32, if they
    did; it is measured on the data of each run, so a pair may come from another variant than in an earlier run.
    """

    device: Device
    runtime: str
    bound: float
    invariance_error: float
    exact: float | None = None

    def allowed(self, other: Origin) -> float:
        """The largest |Δlogit| between here and there that measured bounds explain.

        Each may stray from fp32 by its bound. On one device, where a pair's numbers are its own, no more than
        :data:`NOISE` is left of that.
        """
        same = (self.device, self.runtime, self.exact) == (other.device, other.runtime, other.exact)
        isolated = self.invariance_error == 0.0 == other.invariance_error
        return min(self.bound + other.bound, NOISE if same and isolated else float("inf"))

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "device": self.device.to_json(),
            "runtime": self.runtime,
            "bound": self.bound,
            "invariance_error": self.invariance_error,
            "exact": self.exact,
        }

    @classmethod
    def from_json(cls, found: Fields) -> Origin:
        """From a JSON object.

        Raises:
            OutputError: a field is missing, unknown or of another type: nothing can be said of such labels.
        """
        bound, invariance_error = found.magnitude("bound"), found.magnitude("invariance_error")
        if found.content.keys() != cls.__dataclass_fields__.keys() or bound is None or invariance_error is None:
            raise OutputError(f"{found.where} is damaged: {found.within} is no origin of labels; {found.advice}")
        device = Device.from_json(found.inner("device"))
        return cls(device, found.text("runtime"), bound, invariance_error, found.magnitude("exact"))
