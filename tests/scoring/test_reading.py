"""``--reading plain``: what a user sees of it, where it is refused, and that nothing changes without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import ColumnNames, Scorer
from scorer.errors import UsageError
from scorer.run.explain import explain
from scorer.scoring.outputs import Output
from scorer.scoring.settings import Settings
from tests.run.calls import scorer as command

FACTS = [{"subject": "A v B", "predicate": "attendance", "object": "5947"}]
TEXT = "**Report**\n\n5,947 people came on 27.09.2026."
READ = "A v B: Report. 5947 people came on 27 September 2026."


def test_the_model_reads_one_notation_and_the_text_column_is_as_it_was(tiny: Path) -> None:
    with Scorer(tiny, reading="plain", columns=ColumnNames(details=True)) as scorer:
        assert "|reading:plain-1|" in scorer.signature
        verdict = scorer.score([("A v B", "attendance", "5,947")], TEXT)
        table = scorer.score_table(pa.table({"triples": [FACTS], "text": [TEXT]}))
    assert {check.premise for check in verdict.checks if check.check == "omission"} == {READ}
    assert [check.hypothesis for check in verdict.checks if check.check == "hallucination"] == [READ]
    assert verdict.facts == ["The attendance of A v B is 5947."]
    assert table["text"].to_pylist() == [TEXT]
    assert table["worded_facts"].to_pylist() == [["The attendance of A v B is 5947."]]


def test_without_it_nothing_is_said_of_it(tiny: Path) -> None:
    with Scorer(tiny) as scorer:
        assert "reading" not in scorer.signature
        assert scorer.score([("A v B", "attendance", "5,947")], TEXT).checks[0].premise == TEXT


def test_a_run_says_what_it_read(tiny: Path, tmp_path: Path) -> None:
    data, out = tmp_path / "in.parquet", tmp_path / "out"
    pq.write_table(pa.table({"triples": [FACTS], "text": [TEXT]}), data)
    options: list[Any] = [data, "--bundle", tiny, "--reading", "plain", "--device", "cpu"]
    planned = command("plan", *options).stdout
    assert "  The attendance of A v B is 5947.\n" in planned
    assert f"text of the first row, as it is read: {READ}\n" in planned
    plan = json.loads(command("plan", *options, "--json").stdout)
    assert (plan["first_text"], "|reading:plain-1|" in plan["signature"]) == (READ, True)
    command("run", *options, "--out", out, "--details")
    output = Output.open(out)
    explained = explain(output, Scorer(**output.run_settings.arguments()), 0)
    assert explained.recomputed.checks[0].premise == READ
    assert explained.same_labels and explained.difference == 0


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"sentences": True}, "--sentences"),
        ({"columns": ColumnNames(document="source")}, "--document-column"),
        ({"protocol": "factspotter"}, "--protocol factspotter"),
    ],
)
def test_what_does_not_go_with_it_is_refused_in_one_line(settings: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError, match="--reading plain does not go with") as refused:
        Settings("bundle", reading="plain", **settings)
    assert option in str(refused.value) and "\n" not in str(refused.value)
