"""``ScoreBatches`` without Ray: it gives what the scorer gives. With Ray Data: tests/faults/test_ray.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scorer import Scorer
from scorer.integrations.ray import ScoreBatches
from tests.faults import harness


def test_a_batch_has_the_columns_of_the_scorer(tiny: Path) -> None:
    table = harness.rows(30)
    with (
        Scorer(tiny) as scorer,
        ScoreBatches(tiny, threads=1, templates={"eatType": "<subject> is a <object>."}) as score,
    ):
        found = score(table)
        assert found.num_rows == 30 and found.schema.names == scorer.score_table(table).schema.names
        assert found["fact_entailment"] != scorer.score_table(table)["fact_entailment"], "the templates are used"
        assert score(table.slice(0, 0)).schema == found.schema


def test_a_batch_of_arrays_is_refused_with_the_argument_to_write(tiny: Path) -> None:
    with ScoreBatches(tiny) as score, pytest.raises(TypeError, match="batch_format='pyarrow'"):
        score({"text": np.array(["a"])})
