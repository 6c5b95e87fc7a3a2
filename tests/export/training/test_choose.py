"""The choice between checkpoints: asked of pairs that no run is trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

from export.training.general import field
from export.training.general.choose import asked


@pytest.mark.slow
def test_no_pair_that_is_asked_is_trained_on(shared_data: Path) -> None:
    data = shared_data.parent
    found = asked(data / "nli", data / "field", 40)
    trained = field.read(data / "field", data / "nli" / "nli_test_public.parquet")
    pairs = set(zip(trained["premise"], trained["hypothesis"], strict=True))
    for name, rows in found.items():
        assert 20 <= len(rows) <= 40, name
        assert not {(premise, hypothesis) for premise, hypothesis, _ in rows} & pairs, name
        assert 0.1 < sum(entailed for *_, entailed in rows) / len(rows) < 0.9, name
