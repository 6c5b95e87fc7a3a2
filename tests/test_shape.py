"""Guard rails: how much one must hold in mind to follow a run. A change that raises a number says why."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.trace import ROOT, closure, modules, trace_of_the_sample

# The plan of 0.1.0's last features: sentences over several facts, plain reading, contradicted facts, comparing systems.
# And since then: marks of rows, states of an output, thread counts, where names of columns lead, valid strings,
# languages of texts. Three more: the notes of a bundle, names of options and reports on record, each in one place; five
# more: names of output columns are asked of the column names, opened files and local files have modules of their own.
FUNCTIONS_OF_A_RUN = 405
FILES_OF_A_RUN = 61
# metric/plain, imported only under --reading plain; four leaves that read the input; what executors of workers
# hold; the bound of --exact, which the engine and the plan share; languages; opened files and Parquet files, so that
# text files do not import shards; local files, so that the store in a bucket does not import the one that opens it.
MODULES_OF_A_RUN = 69
# 350 in metric/plain, 500 in json_values, column_paths, json_arrays, valid_strings; 400 for contradicted facts, worst
# sentences, one side alone and languages; 750 for types in place of words, and fields documented on lines of their own.
# 250 more for fields of inference, storage and run on lines of their own.
LINES_OF_A_RUN = 14_750
IMPORTS_OF_A_MODULE = 17  # audit/builder, which puts an audit together from a module for each of its parts
# 34,200 with metric/plain, scorer templates try, scorer compare, contradicted facts and languages. 1,900 more: fields
# are documented on lines of their own.
# 600 more for the same in inference, scoring, audit, evaluation and export.
# 150 in evaluation/noted_texts and its callers: comparisons without texts in other languages.
LINES = 36_950
LINES_OF_A_FUNCTION = 60
LONG_FUNCTIONS = 1
VAGUE = {
    "found", "one", "given", "known", "there", "chosen", "made", "asked", "wanted", "told", "kept", "named", "held",
    "seen", "said", "own", "taken", "came", "went", "gone", "born", "spelt", "behind", "aside", "apart", "alike",
    "each", "here", "many", "few", "meant", "tried", "again", "past", "both", "then", "same", "old", "more", "others",
    "rest", "alone",
}  # fmt: skip
"""Names of locals and parameters that do not say what they hold."""
VAGUE_NAMES = 0
"""Functions with such a name."""
SHARED_CLASS_NAMES = set[str]()
"""Class names that still mean two things."""
SHARED_MODULE_NAMES = set[str]()
"""Module names that still mean two things."""


@pytest.mark.slow
def test_a_run_of_the_sample_goes_through_few_functions_and_files() -> None:
    called = {call for functions in trace_of_the_sample().values() for call in functions}
    assert 0 < len(called) <= FUNCTIONS_OF_A_RUN
    assert len({call.file for call in called}) <= FILES_OF_A_RUN


def test_a_run_imports_few_modules() -> None:
    found = modules()
    reached = closure(found)
    assert {"scorer.inference.engine", "scorer.metric.verdict"} < reached
    assert len(reached) <= MODULES_OF_A_RUN
    assert sum(found[name].lines for name in reached) <= LINES_OF_A_RUN


def test_no_module_imports_many_others() -> None:
    found = modules(packages=("scorer", "export"))
    many = {name: len(module.imports) for name, module in found.items() if len(module.imports) > IMPORTS_OF_A_MODULE}
    assert not many
    assert sum(module.lines for module in found.values()) <= LINES


def test_few_functions_are_long() -> None:
    assert len(long_functions(ROOT / "scorer") + long_functions(ROOT / "export")) <= LONG_FUNCTIONS


def long_functions(folder: Path) -> list[str]:
    return [
        f"{file}:{node.lineno} {node.name}"
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= LINES_OF_A_FUNCTION
    ]


def test_few_functions_have_names_that_do_not_say_what_they_hold() -> None:
    vague = {node.name: names_of(node) & VAGUE for node in definitions() if names_of(node) & VAGUE}
    assert len(vague) <= VAGUE_NAMES, vague


def test_no_two_classes_share_a_name() -> None:
    assert repeated(node.name for node in nodes() if isinstance(node, ast.ClassDef)) <= SHARED_CLASS_NAMES


def test_no_two_modules_share_a_name() -> None:
    assert repeated(file.stem for file in sources() if file.stem != "__init__") <= SHARED_MODULE_NAMES


def sources() -> list[Path]:
    return [file for package in ("scorer", "export") for file in (ROOT / package).rglob("*.py")]


def nodes() -> Iterator[ast.AST]:
    for file in sources():
        yield from ast.walk(ast.parse(file.read_text()))


def definitions() -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def names_of(function: ast.AST) -> set[str]:
    """Parameters and locals of a function, with those of the functions and comprehensions inside it."""
    inside = list(ast.walk(function))
    stored = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in inside if isinstance(node, ast.arg)}


def repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}
