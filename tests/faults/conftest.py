from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundles import make_bundle
from tests.faults import harness


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("faults") / "tiny")


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """A folder of inputs, and the outputs of a run that nothing happened to."""
    base = tmp_path_factory.mktemp("reference")
    data = harness.make_data(base / "in")
    harness.run(data, base / "whole", bundle)
    return data, base / "whole"
