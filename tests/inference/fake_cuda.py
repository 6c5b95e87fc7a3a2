"""A CUDA that is not there: ONNX Runtime's Python interface as it behaves on a GPU, computed by its CPU provider.

It stands for three things that the program sees of a GPU: that the provider is listed and taken, which options a
session was opened with, and which error a call fails with. It says nothing about kernels, speed or memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import onnxruntime
import pytest

from scorer.inference import session as sessions
from scorer.inference.device import CPU, CUDA


class FakeCuda:
    """What was asked of it. ``options``: of the provider, a session each. ``runs``: the thread and the run options of
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
    monkeypatch.setattr(sessions, "_start", cache(sessions._start.__wrapped__))
    return fake
