"""The bundle that an output was scored with, and why its labels should not be trusted, where that is known."""

from __future__ import annotations

from pathlib import Path

from ..errors import OutputError
from ..scoring.outputs import Output
from ..scoring.signature import parse
from ..system.codec import OpenRecord, decode
from ..system.files import read_small
from .document import BundleShown, Callout, Severity

_LARGEST = 16 << 20


class _Source(OpenRecord, frozen=True, kw_only=True):
    random_init: bool = False


class _Manifest(OpenRecord, frozen=True, kw_only=True):
    """What of ``bundle.json`` says whether labels can be trusted."""

    name: str
    source: _Source = _Source()
    forced: tuple[str, ...] = ()


def bundle_of(signature: str) -> BundleShown:
    """The model, as a signature has it."""
    name, _, sha = parse(signature).get("model", "").rpartition("@")
    return BundleShown(name=name, sha=sha)


def call_out(output: Output) -> list[Callout]:
    """That the weights are random, that the export was forced, or that the model is a small one that ships.

    The first two are said where the bundle is still where the run found it.
    """
    name = bundle_of(output.signature).name
    found = _manifest(Path(str(output.settings.get("bundle", ""))))
    if found is not None and found.name == name and found.source.random_init:
        return [_callout("fail", f"the weights of the bundle {name} are random, so its labels mean nothing")]
    if found is not None and found.name == name and found.forced:
        reasons = list(found.forced)
        return [_callout("warn", f"the bundle {name} was exported although its checks failed (--force)", reasons)]
    if name.startswith("embedded"):
        return [_callout("warn", f"scored with {name}, a small model for a first look; export a larger one")]
    return []


def _manifest(folder: Path) -> _Manifest | None:
    try:
        return decode(read_small(folder / "bundle.json", _LARGEST), _Manifest, str(folder))
    except (OSError, OutputError):  # moved, or another version's
        return None


def _callout(severity: Severity, message: str, evidence: list[str] | None = None) -> Callout:
    return Callout(kind="bundle", severity=severity, group={}, message=message, evidence=evidence or [])
