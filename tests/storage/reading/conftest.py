"""Fixtures of the tests of the reader."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _fresh(fresh_readers: None) -> None:
    """Each reader of these tests has a process of its own."""
