from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundles import make_bundle


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the follow-along model, fp32 and int8 (which is the same model under another name)."""
    return make_bundle(tmp_path_factory.mktemp("bundles") / "tiny", precisions=("fp32", "int8"))
