"""Sessions of a model that behave as a test wants them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scorer.inference import model_session
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
