"""Fixtures of the storage tests: a reader that a whole module shares, since each one starts a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scorer.storage import ShardReader
from tests.processes import LIMIT_S
from tests.storage.backends import memory as memory
from tests.storage.backends import target as target


@pytest.fixture(scope="module")
def reader() -> Iterator[ShardReader]:
    with ShardReader(timeout_s=LIMIT_S) as found:
        yield found
