"""Differences between systems that rest on one predicate, against rows labelled by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.evaluation.comparison import CompareOptions, compare
from tests.evaluation.scored import save, scored

FACTS = ("height", "colour")


def output(path: Path, omitted: dict[str, list[list[str]]], hallucinations: int = 0, **columns: Any) -> Path:
    """An output of two systems: by system the predicates of the facts that each of its texts omits; of the second
    system so many texts say more as well."""
    (first, texts), (second, other_texts) = omitted.items()
    rows = [*texts, *other_texts]
    labels = ["omission" if row else "OK" for row in rows]
    for number in range(len(texts), len(texts) + hallucinations):
        labels[number] = "omission+hallucination" if rows[number] else "hallucination"
    triples = [[f"s{number} | {name} | x" for name in FACTS] for number in range(len(texts))] * 2
    positions = [[FACTS.index(name) for name in row] for row in rows]
    table = scored(
        labels,
        system=[first] * len(texts) + [second] * len(other_texts),
        triples=triples,
        omitted=pa.array(positions, pa.list_(pa.int32())),
        **columns,
    )
    return save(table, path)


def notes(path: Path) -> list[str]:
    remarks: list[str] = []
    compare(path, "out", (), CompareOptions(), remarks.append)
    return remarks


ALL_RIGHT: list[list[str]] = [[]] * 40


@pytest.mark.parametrize(
    ("texts", "hallucinations", "predicate"),
    [
        ([["height"]] * 20 + [[]] * 20, 0, "height"),
        ([["height"]] * 20 + [["colour"]] * 2 + [[]] * 18, 0, "height"),
        ([["height"]] * 20 + [["colour"]] * 20, 0, None),  # each of them alone shows the difference
        ([["height", "colour"]] * 20 + [[]] * 20, 0, None),  # no row rests on one predicate
        ([["height"]] * 20 + [[]] * 20, 20, None),  # the rows are wrong without it too
        ([["height"]] * 2 + [[]] * 38, 0, None),  # no difference
    ],
)
def test_a_difference_by_the_facts_of_one_predicate(
    texts: list[list[str]], hallucinations: int, predicate: str | None, tmp_path: Path
) -> None:
    remarks = notes(output(tmp_path / "x.parquet", {"a": ALL_RIGHT, "b": texts}, hallucinations))
    if predicate is None:
        assert remarks == []
    else:
        share = "5.0%" if ["colour"] in texts else "0%"
        assert remarks == [
            f"a and b differ significantly only by the facts of {predicate!r}: without omissions of them 0% and "
            f"{share} are not OK, which can be chance; read some of the rows"
        ]


def test_without_facts_or_positions_there_is_no_remark(tmp_path: Path) -> None:
    texts = [["height"]] * 20 + [[]] * 20
    whole = output(tmp_path / "x.parquet", {"a": ALL_RIGHT, "b": texts}, number=[*range(40)] * 2)
    table = pq.read_table(whole)
    assert len(notes(whole)) == 1
    save(table.drop_columns(["omitted"]), tmp_path / "y.parquet")
    assert notes(tmp_path / "y.parquet") == []
    save(table.drop_columns(["triples"]), tmp_path / "z.parquet")
    remarks: list[str] = []
    compare(tmp_path / "z.parquet", "out", (), CompareOptions(inputs="number"), remarks.append)
    assert remarks == []
