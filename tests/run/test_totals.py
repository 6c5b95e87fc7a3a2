"""What the totals of a run say of its bundle."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scorer.run.totals import bundle_of
from tests.bundles import RESTAURANTS
from tests.plans import made_plan


@pytest.mark.parametrize(("random", "forced"), [(True, []), (False, ["parity"]), (False, [])])
def test_a_forced_or_random_bundle_is_known_to_the_totals(tmp_path: Path, random: bool, forced: list[str]) -> None:
    content: dict[str, Any] = json.loads((RESTAURANTS / "bundle.json").read_text())
    content["source"]["random_init"] = random
    (tmp_path / "bundle.json").write_text(json.dumps({**content, "forced": forced}))
    found = bundle_of(made_plan(settings={"bundle": str(tmp_path)}))
    assert found is not None and (found.source.random_init, list(found.forced)) == (random, forced)
    shutil.rmtree(tmp_path)
    assert bundle_of(made_plan(settings={"bundle": str(tmp_path)})) is None  # removed while the run went on
    assert bundle_of(made_plan()) is None
