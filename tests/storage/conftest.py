"""Fixtures of the storage tests."""

from __future__ import annotations

from tests.storage.backends import memory as memory
from tests.storage.backends import target as target
