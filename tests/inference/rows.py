"""Rows of the table of devices, changed for a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scorer.inference import devices, sessions


def with_row(monkeypatch: pytest.MonkeyPatch, kind: str, **changes: Any) -> None:
    """Change fields of a kind's row in this process."""
    changed = {name: replace(row, **changes) if name == kind else row for name, row in devices.KINDS.items()}
    for module in (devices, sessions):
        monkeypatch.setattr(module, "KINDS", changed)
