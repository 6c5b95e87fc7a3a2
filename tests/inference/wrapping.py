"""Sessions of a model and rows of the table of devices that are as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.inference import devices, model_session, sessions
from scorer.inference.devices import Device


class Wrapped:
    """A session that does what the one within does."""

    def __init__(self, session: Any) -> None:
        self.inner = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def wrap_sessions(monkeypatch: pytest.MonkeyPatch, wrapped: Callable[[Any], Any]) -> list[Any]:
    """Have each session that an engine of this process opens be another one; the list of them grows with each."""
    create, opened = model_session.create_session, []

    def wrapping(model: Path, on: Device, threads: int, options: Mapping[str, str] | None = None) -> Any:
        opened.append(wrapped(create(model, on, threads, options)))
        return opened[-1]

    monkeypatch.setattr(model_session, "create_session", wrapping)
    return opened


def with_row(monkeypatch: pytest.MonkeyPatch, kind: str, **changes: Any) -> None:
    """Change fields of a kind's row in this process."""
    changed = {name: replace(row, **changes) if name == kind else row for name, row in devices.KINDS.items()}
    for module in (devices, sessions):
        monkeypatch.setattr(module, "KINDS", changed)
