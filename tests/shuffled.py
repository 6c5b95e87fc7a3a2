"""Tests in a random order, to find those that depend on others: a plugin of pytest.

    PYTHONPATH=$PWD SHUFFLE=7 PYTEST_ADDOPTS="-p tests.shuffled --no-loadscope-reorder" make test

``SHUFFLE`` is the seed: the same number gives the same order, also in the processes of pytest-xdist. Files come in a
random order, and so do the tests of each file, since tests of a file share what takes long to make.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest


def pytest_report_header() -> str:
    return f"tests in random order: SHUFFLE={_seed()}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rng = random.Random(_seed())
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file.values())
    rng.shuffle(files)
    for tests in files:
        rng.shuffle(tests)
    items[:] = [item for tests in files for item in tests]


def _seed() -> int:
    return int(os.environ.get("SHUFFLE", "0"))
