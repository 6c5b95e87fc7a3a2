"""The bundle that an output was scored with, and why its labels should not be trusted, where that is known."""

from __future__ import annotations

from ..scoring.outputs import Output
from ..scoring.signature import parse
from .document import BundleShown, Callout, Severity


def bundle_of(signature: str) -> BundleShown:
    """The model, as a signature has it."""
    name, _, sha = parse(signature).get("model", "").rpartition("@")
    return BundleShown(name=name, sha=sha)


def call_out(output: Output) -> list[Callout]:
    """That the weights are random, that the export was forced, or that the model is a small one that ships."""
    name = bundle_of(output.signature).name
    if output.summary.random_weights:
        return [_callout("fail", f"the weights of the bundle {name} are random, so its labels mean nothing")]
    if output.summary.forced:
        reasons = list(output.summary.forced)
        return [_callout("warn", f"the bundle {name} was exported although its checks failed (--force)", reasons)]
    if name.startswith("embedded"):
        return [_callout("warn", f"scored with {name}, a small model for a first look; export a larger one")]
    return []


def _callout(severity: Severity, message: str, evidence: list[str] | None = None) -> Callout:
    return Callout(kind="bundle", severity=severity, group={}, message=message, evidence=evidence or [])
