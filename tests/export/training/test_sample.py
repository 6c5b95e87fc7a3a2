"""The sample of three domains: what ships is what the recipe writes, and its gold labels are about its texts."""

from __future__ import annotations

import pyarrow.parquet as pq

from export.training.general.sample import DOMAINS, GOLD, table
from scorer.inference.shipped import DOMAINS as SHIPPED_SAMPLE


def test_the_shipped_rows_are_those_of_the_recipe() -> None:
    assert pq.read_table(SHIPPED_SAMPLE).equals(table())


def test_each_domain_has_a_text_of_each_kind() -> None:
    assert len(DOMAINS) == 3
    for facts, texts in DOMAINS.values():
        assert list(texts) == list(GOLD)
        values = {value.replace("_", " ") for fact in facts for value in (fact[0], fact[2])}
        assert all(value in texts["faithful"] for value in values), values
