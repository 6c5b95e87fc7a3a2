"""A plugin of pytest that runs tests in a random order: `TEST_ORDER_SEED=1 pytest -p tests.shuffled`."""

from __future__ import annotations

import os
import random

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    random.Random(os.environ.get("TEST_ORDER_SEED", "1")).shuffle(items)
