"""The sample of three domains: what ships is what the recipe writes, and its gold labels are about its texts."""

from __future__ import annotations

import pyarrow.parquet as pq

from scorer.inference.shipped import DOMAINS as SHIPPED_SAMPLE
from training.general.sample import table


def test_the_shipped_rows_are_those_of_the_recipe() -> None:
    assert pq.read_table(SHIPPED_SAMPLE).equals(table())
