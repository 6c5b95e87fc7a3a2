"""The public functions, each given what it does not take: one line that names it, and never an error from inside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer import ColumnNames, Scorer, Triple
from scorer.audit import AuditOptions, audit
from scorer.audit.report import Audit, render
from scorer.convert import (
    Problems,
    Rows,
    check_output,
    convert_e2e,
    convert_quintd,
    convert_webnlg,
    write_rows,
    write_table,
)
from scorer.errors import ScorerError
from scorer.evaluation.report import EvaluateOptions, evaluate
from scorer.evaluation.spans import SpanOptions, evaluate_spans
from scorer.inference.shipped import SHIPPED, Shipped
from scorer.metric.slots import load_templates
from scorer.metric.templates import Templates, parse_optional
from tests.bundles import RESTAURANTS

PUBLIC = ("scorer", "scorer.audit", "scorer.audit.report", "scorer.convert")
"""Packages for Python programs; what the others export is for this program alone."""
RESULTS = {
    *("CheckResult", "Ranking", "Verdict", "ScorerError", "Triple", "Document", "MAX_BYTES", "__version__"),
    *("Rows", "Quintd"),
}
"""Public names that take nothing from the user: results, errors, types, and a tuple of three."""
WRONG: tuple[Any, ...] = (None, 5, 2.5, True, "text", b"bytes", [3], ["a", None], {"a": 1}, {3}, object(), ("a", "b"))


def good_problems() -> Problems:
    return Problems(False, lambda message: None)


# Each with arguments that are right, of which one at a time is replaced; ``None`` for one that takes any value.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Scorer": (
        Scorer,
        {
            "bundle": "nowhere",
            "device": "cpu",
            "precision": "auto",
            "templates": None,
            "protocol": "paper",
            "checks": "both",
            "optional": (),
            "missing_template": "backoff",
            "sentences": False,
            "exact": False,
            "overlong": "error",
            "threads": 1,
            "token_budget": None,
            "columns": None,
            "log": print,
        },
    ),
    "Scorer.embedded": (Scorer.embedded, {"device": "cpu", "optional": (), "columns": None, "threads": 1}),
    "ColumnNames": (ColumnNames, {name: getattr(ColumnNames(), name) for name in ColumnNames.__dataclass_fields__}),
    "AuditOptions": (AuditOptions, {name: getattr(AuditOptions(), name) for name in AuditOptions.__dataclass_fields__}),
    "audit": (audit, {"out": Path("nowhere"), "options": None}),
    "Audit": (Audit, {"document": {}}),
    "render": (render, {"document": {}, "embedded": False}),
    "Problems": (Problems, {"strict": False, "say": print}),
    "check_output": (check_output, {"out": Path("nowhere.parquet"), "inputs": [], "force": False}),
    "convert_e2e": (
        convert_e2e,
        {
            "inputs": ["nowhere"],
            "problems": good_problems(),
            "texts": (),
            "references": None,
            "mr_column": None,
            "text_column": None,
            "empty": (),
        },
    ),
    "convert_webnlg": (
        convert_webnlg,
        {
            "inputs": ["nowhere"],
            "problems": good_problems(),
            "texts": (),
            "mr_column": None,
            "text_column": None,
            "empty": (),
            "lang": None,
        },
    ),
    "convert_quintd": (convert_quintd, {"source": "nowhere", "problems": good_problems(), "split": "test"}),
    "write_table": (write_table, {"table": pa.table({}), "out": Path(), "what": "--out"}),
    "write_rows": (write_rows, {"rows": Rows(), "out": Path("nowhere.parquet")}),
    "evaluate": (evaluate, {"path": Path("nowhere"), "options": EvaluateOptions(), "note": print}),
    "EvaluateOptions": (
        EvaluateOptions,
        {name: getattr(EvaluateOptions(), name) for name in EvaluateOptions.__dataclass_fields__},
    ),
    "evaluate_spans": (evaluate_spans, {"path": Path("nowhere"), "options": SpanOptions(Path("g")), "note": print}),
    "SpanOptions": (
        SpanOptions,
        {name: getattr(SpanOptions(Path("g")), name) for name in SpanOptions.__dataclass_fields__},
    ),
    "Templates.load": (Templates.load, {"path": "nowhere"}),
    "Templates.from_dict": (Templates.from_dict, {"data": {}, "where": "here"}),
    "load_templates": (load_templates, {"path": "nowhere", "warn": print}),
    "parse_optional": (parse_optional, {"specs": []}),
}


def test_every_public_name_is_here() -> None:
    exported = {name for package in PUBLIC for name in import_module(package).__all__}
    assert exported - RESULTS == {name for name in CALLS if name in exported}


def _cases() -> Iterator[tuple[str, str]]:
    for name, (_, right) in CALLS.items():
        yield from ((name, argument) for argument in right)


@pytest.mark.parametrize(("name", "argument"), list(_cases()))
def test_wrong_types(name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # It opens faster; which model does not matter.
    monkeypatch.setitem(SHIPPED, "embedded", Shipped("embedded-e2e", RESTAURANTS, ""))
    function, right = CALLS[name]
    refused = 0
    for wrong in WRONG:
        try:
            function(**{**right, argument: wrong})
        except TypeError as error:
            assert "\n" not in str(error)
            assert argument in str(error), error
            refused += 1
        except ScorerError as error:  # of a right type, or found out later: there is no such file
            assert "\n" not in str(error)
    assert refused or (name, argument) == ("Templates.from_dict", "data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", CALLS)
def test_the_signature_is_still_there(name: str) -> None:
    function, right = CALLS[name]
    parameters = inspect.signature(function).parameters
    assert set(right) <= set(parameters) or "options" in parameters


@pytest.fixture(scope="module")
def opened() -> Scorer:
    return Scorer(str(RESTAURANTS), device="cpu")


FACT = "The b of a is c."


@pytest.mark.parametrize(
    "triples",
    [
        [Triple("a", "b", "c")],
        [("a", "b", "c")],
        (["a", "b", "c"],),
        [{"subject": "a", "predicate": "b", "object": "c"}],
        [{"Object": "c", "SUBJECT": " a ", "prediCATE": "b"}],
        ["a | b | c"],
        ["a|b|c"],
        iter(["a | b | c"]),
    ],
)
def test_triples_in_every_form(triples: Any, opened: Scorer) -> None:
    assert opened.score(triples, "A text.").facts == [FACT]


@pytest.mark.parametrize(
    "triples", [["a | | c"], [("a", "", "c")], [{"subject": "a", "predicate": " ", "object": "c"}]]
)
def test_blank_parts_are_an_error_of_the_row(triples: Any, opened: Scorer) -> None:
    assert opened.score(triples, "A text.").error == "malformed_triples"


@pytest.mark.parametrize(
    ("triples", "named"),
    [
        ([{"subject": "a"}], "triples[0] is {'subject': 'a'} (dict)"),
        ([{"subject": "a", "predicate": "b", "object": "c", "more": "d"}], "triples[0] is"),
        ([{"subject": "a", "Subject": "b", "predicate": "c"}], "triples[0] is"),
        ([{1: "a", "predicate": "b", "object": "c"}], "triples[0] is"),
        (["abc"], "triples[0] is 'abc' (str)"),
        ([("a", "b", "c"), "a | b"], "triples[1] is 'a | b' (str)"),
        ([("a", "b")], "triples[0] is ('a', 'b') (tuple)"),
        ([b"a|b|c"], "triples[0] is b'a|b|c' (bytes)"),
        ([None], "triples[0] is None"),
        ([{"a", "b", "c"}], "triples[0] is"),
        ([("a", None, "c")], "triples[0]: the predicate is None"),
        ([("a", "b", 3)], "triples[0]: the object is 3 (int)"),
        ([{"subject": ["a"], "predicate": "b", "object": "c"}], "triples[0]: the subject is ['a'] (list)"),
        ("a | b | c", "triples is 'a | b | c' (str)"),
        ("abc", "triples is 'abc' (str)"),
        (b"abc", "triples is b'abc' (bytes)"),
        ({"subject": "a", "predicate": "b", "object": "c"}, "triples is"),
        ({("a", "b", "c")}, "triples is"),
        (Triple("a", "b", "c"), "triples is a single triple"),
        (None, "triples is None"),
        (3, "triples is 3 (int)"),
        ([3.5], "triples[0] is 3.5 (float)"),
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
@pytest.mark.parametrize("method", ["score_table", "score_batches", "score_row"])
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
