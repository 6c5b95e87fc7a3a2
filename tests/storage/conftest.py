"""Fixtures of the storage tests: a reader that a whole module shares, since each one starts a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scorer.storage import ShardReader


@pytest.fixture(scope="module")
def reader() -> Iterator[ShardReader]:
    with ShardReader(timeout_s=10) as found:
        yield found
