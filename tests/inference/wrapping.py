"""Sessions, devices and entries of their table that are as a test wants them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from scorer.inference import device, session
from scorer.inference.device import CPU, CUDA, Device


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


class FakeCuda:
    """A CUDA that is not there: ONNX Runtime's interface as on a GPU (the provider is taken, options, errors of calls),
    computed by its CPU provider.

    ``options``: of the provider, a session each. ``runs``: the thread and the run options of
    each call.

    ``fail``: called with a session's options and number of its call; returns the message that the call fails with.
    """

    def __init__(self) -> None:
        self.options: list[dict[str, Any]] = []
        self.fail: Callable[[dict[str, Any], int], str | None] = lambda options, call: None
        self.runs: list[tuple[str, Any]] = []


def install(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """Have ``onnxruntime`` of this process be one with a CUDA device that starts."""
    fake = FakeCuda()
    real = onnxruntime.InferenceSession

    class Session:
        def __init__(self, model: str, settings: Any, providers: list[Any], **others: Any) -> None:
            self._inner = real(model, settings, providers=[CPU], **others)
            first = providers[0]
            self._providers = [first[0] if isinstance(first, tuple) else first, CPU]
            self._options = dict(first[1]) if isinstance(first, tuple) else {}
            self._calls = 0
            if self._providers[0] == CUDA:
                fake.options.append(self._options)

        def run(self, names: Any, feed: Any, options: Any = None) -> Any:
            self._calls += 1
            if self._providers[0] == CUDA:
                fake.runs.append((threading.current_thread().name, options))
                message = fake.fail(self._options, self._calls)
                if message is not None:
                    raise RuntimeError(message)
            return self._inner.run(names, feed)

        def get_providers(self) -> list[str]:
            return self._providers

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    monkeypatch.setattr(session, "_start", cache(session._start.__wrapped__))
    return fake
