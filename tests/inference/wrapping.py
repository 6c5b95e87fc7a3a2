"""Sessions of a model and entries of the table of devices that are as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.inference import device, session
from scorer.inference.device import Device


class Wrapped:
    """A session that does what the one within does."""

    def __init__(self, session: Any) -> None:
        self.inner = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def wrap_sessions(monkeypatch: pytest.MonkeyPatch, wrapped: Callable[[Any], Any]) -> list[Any]:
    """Have each session that an engine of this process opens be another one; the list of them grows with each."""
    create, opened = session.create_session, []

    def wrapping(model: Path, on: Device, threads: int, options: Mapping[str, str] | None = None, **others: Any) -> Any:
        opened.append(wrapped(create(model, on, threads, options, **others)))
        return opened[-1]

    monkeypatch.setattr(session, "create_session", wrapping)
    return opened


def with_row(monkeypatch: pytest.MonkeyPatch, kind: str, **changes: Any) -> None:
    """Change fields of a kind in this process."""
    changed = {name: replace(spec, **changes) if name == kind else spec for name, spec in device.KINDS.items()}
    for module in (device, session):
        monkeypatch.setattr(module, "KINDS", changed)
