"""Settings of every kind, each given what it does not take: one line that names it, and never an error from inside."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import scorer
from scorer import ColumnNames, Scorer, Triple
from scorer.audit import AuditOptions
from scorer.errors import ScorerError
from scorer.evaluation import EvaluateOptions
from scorer.inference import BUILTIN_BUNDLES
from scorer.integrations.ray import ScoreBatches
from scorer.metric.columns import output_names
from scorer.metric.fact_templates import parse_optional
from scorer.scoring.settings import Settings
from tests.conftest import ROOT
from tests.faults import harness

WRONG: tuple[Any, ...] = (None, 5, 2.5, True, "text", b"bytes", [3], ["a", None], {"a": 1}, {3}, object(), ("a", "b"))


# Each with arguments that are right, of which one at a time is replaced.
CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    Scorer: vars(Settings("nowhere")),
    parse_optional: {"specs": []},
    **{kind: vars(kind()) for kind in (ColumnNames, AuditOptions, EvaluateOptions)},
}


@pytest.mark.parametrize(("call", "argument"), [(call, name) for call, right in CALLS.items() for name in right])
def test_wrong_types(
    call: Callable[..., Any], argument: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # It opens faster; which model does not matter.
    monkeypatch.setitem(BUILTIN_BUNDLES, "embedded", tiny)
    refused = 0
    for wrong in WRONG:
        try:
            call(**{**CALLS[call], argument: wrong})
        except (TypeError, ScorerError) as error:  # the latter where it is of a right type, and there is no such file
            assert "\n" not in str(error)
            assert isinstance(error, ScorerError) or argument in str(error)
            refused += isinstance(error, TypeError)
    assert refused and list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def opened(tiny: Path) -> Scorer:
    return Scorer(tiny, device="cpu")


@pytest.mark.parametrize(
    "triples",
    [
        [Triple("a", "b", "c")],
        [("a", "b", "c")],
        (["a", "b", "c"],),
        [{"Object": "c", "SUBJECT": " a ", "prediCATE": "b"}],
        iter(["a | b | c"]),
    ],
)
def test_triples_in_every_form(triples: Any, opened: Scorer) -> None:
    assert opened.score(triples, "A text.").facts == ["The b of a is c."]
    assert opened.score(["a | | c"], "A text.").error == "malformed_triples", "a blank part is an error of the row"


@pytest.mark.parametrize(("value", "written"), [(5, "5"), (True, "true"), (1.5, "1.5"), (-0.25, "-0.25")])
def test_numbers_and_booleans_are_parts_in_python_as_in_files(
    value: Any, written: str, opened: Scorer, tmp_path: Path
) -> None:
    assert opened.score([("a", "b", value)], "A text.").facts == [f"The b of a is {written}."]
    row = {"text": "A text.", "triples": [{"subject": "a", "predicate": "b", "object": value}]}
    other = {"text": "A text.", "triples": [{"subject": "a", "predicate": "b", "object": "c"}]}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(other)}\n")
    key = opened.score_table([{"text": "A text.", "triples": [["a", "b", written]]}])[0]["row_key"]
    scored = opened.score_table([row, other])
    assert scored[0]["triples"] == row["triples"]
    assert [one["row_key"] for one in (scored[0], opened.score_table([row])[0])] == [key, key]
    assert opened.score_table(str(tmp_path / "rows.jsonl"))["row_key"][0].as_py() == key


@pytest.mark.parametrize(
    ("triples", "named"),
    [
        ([{"subject": "a"}], "triples[0] has the keys subject and not subject, predicate, object"),
        ([("a", "b", "c"), "a | b"], "triples[1] has 2 parts and not three: 'a | b'"),
        ([b"a|b|c"], "triples[0] is b'a|b|c' (bytes)"),
        ([("a", None, "c")], "triples[0] has no predicate: ('a', None, 'c')"),
        ([("a", "b", float("nan"))], "triples[0] has nan as its object"),
        ("a | b | c", "triples is 'a | b | c' (str)"),
        ({"subject": "a", "predicate": "b", "object": "c"}, "triples is"),
        (Triple("a", "b", "c"), "triples is a single triple"),
        (3, "triples is 3 (int)"),
    ],
)
def test_what_is_no_triple_is_named_with_its_position(triples: Any, named: str, opened: Scorer) -> None:
    with pytest.raises(TypeError) as caught:
        opened.score(triples, "A text.")
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [3, b"bytes", ["text"], float("nan"), True])
def test_a_text_that_is_no_string(text: Any, opened: Scorer) -> None:
    with pytest.raises(TypeError, match=r"text is .*; give a string, or None"):
        opened.score(["a | b | c"], text)
    assert opened.score(["a | b | c"], None).error == "null_text"


@pytest.mark.parametrize("wrong", [*WRONG, pa.table({"text": ["a"]})])
@pytest.mark.parametrize("method", ["score_table", "score_batches"])
def test_tables_and_batches(method: str, wrong: Any, opened: Scorer) -> None:
    with pytest.raises((TypeError, ScorerError)) as caught:
        list(getattr(opened, method)(wrong))
    assert "\n" not in str(caught.value)


def test_a_batch_of_a_wrong_type_is_named_where_it_comes(opened: Scorer) -> None:
    good = pa.table({"text": ["a"], "triples": [["a | b | c"]]})
    stream = opened.score_batches([good, "text"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"batches\[1\] is 'text' \(str\)"):
        list(stream)
    with pytest.raises(TypeError, match="batches is"):
        opened.score_batches(good)


def test_a_verdict_and_a_scorer_are_short_and_safe_in_a_notebook(opened: Scorer) -> None:
    found = opened.score([("<b>a", "is", "\x1b[2J&"), ("a", "b", "c")], "<script>")
    assert repr(opened.score(["a | b | c"], None)) == "<Verdict error null_text>"
    for shown in (found, opened):
        assert len(repr(shown)) < 150 and "\n" not in repr(shown)
        html = shown._repr_html_()
        assert "<script" not in html and "<b>a" not in html and "\x1b" not in html
    assert str(found.fine) in repr(found) and "&lt;b&gt;a is &lt;U+001B&gt;[2J&amp;" in found._repr_html_()
    assert "tiny" in repr(opened) and "on cpu" in repr(opened) and opened.signature in opened._repr_html_()


def test_the_help_of_a_scorer_has_a_line_for_every_argument() -> None:
    assert Scorer.__doc__ is not None
    lines = [line.strip().partition(":")[0] for line in Scorer.__doc__.splitlines()]
    settings = {one.name for one in fields(Settings)}
    assert {*lines} >= {*inspect.signature(Scorer).parameters} - {"settings"} | settings


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


STABLE = {
    "CheckResult": "check fact premise hypothesis tokens contradiction neutral entailment passed",
    "ColumnNames": "text triples facts mr keep prefix details sentences attributes subject document",
    "Scorer": "embedded score score_facts score_attributes score_row score_pairs score_table score_batches close "
    "signature settings",
    "ScorerOptions": "templates protocol checks optional missing_template reading device precision threads "
    "device_memory overlong sentences exact columns",
    "Triple": "subject predicate object sentence",
    "Verdict": "fine rough confidence omitted fact_entailment text_entailment all_facts_entailment error note facts "
    "checks sentences said_together contradicted to_dict mark asked_facts",
}
"""Fields and methods of public names. One that goes, or has another name, needs a line in docs/upgrading.md."""
STABLE_COLUMNS = (
    "fine rough confidence omitted contradicted fact_entailment text_entailment all_facts_entailment error note reused "
    "row_key sentences worded_facts details row_info"
)


def test_the_public_names_of_the_page_are_those_of_the_package_and_keep_their_fields(opened: Scorer) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    section = re.search(r"^- \*\*Public\*\* (.*?)^- \*\*Stable\*\*", page, re.MULTILINE | re.DOTALL)
    assert section is not None
    listed = re.findall(r"`(\w+)`", section[1].rpartition("ScoreBatches`:")[2])
    assert listed == scorer.__all__ == sorted({*STABLE, "ScorerError", "__version__"})
    for name, members in STABLE.items():
        public = getattr(scorer, name)
        hints = {*getattr(public, "__annotations__", ()), *dir(opened if public is Scorer else public)}
        assert {*members.split()} <= hints, name


def test_the_output_columns_of_the_page_are_those_of_a_run() -> None:
    page = (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page.partition("## Errors")[0], re.MULTILINE)
    names = ColumnNames(sentences=True, details=True)
    assert {*listed} == {*output_names(names)} == {*STABLE_COLUMNS.split()}
