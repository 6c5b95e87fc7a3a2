"""Anything at all, given to what reads from outside: an answer or an error of ours, soon, and never another exception.

A corpus is kept by Hypothesis in ``.hypothesis``; `make test-slow` draws for longer.
"""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import BundleError, ScorerError, TemplateError
from scorer.inference.bundle import Bundle
from scorer.metric.templates import Templates
from scorer.metric.triples import Triple, from_mr, parse_mr, parse_triple
from scorer.storage import Receipt

CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SHORT = settings(max_examples=150, deadline=2000, suppress_health_check=CHECKS)
LONG = settings(max_examples=5000, deadline=5000, suppress_health_check=CHECKS)

pieces = st.lists(
    st.one_of(st.sampled_from(["name[", "]", "[", ",", "|", " | ", " ", "A", "food[", "\0", "_", "\u2028"]), st.text()),
    max_size=40,
).map("".join)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=12,
)


def triples(text: str) -> None:
    triple = parse_triple(text)
    assert triple is None or (all(triple) and all(part == part.strip() for part in triple))


def meanings(text: str) -> None:
    found = parse_mr(text)
    for triple in found or ():
        assert all(triple)
    column = from_mr(pa.array([text], pa.string()))
    assert [column.distinct[i] for i in column.ids.tolist()] == (found or [])


def templates(data: Any) -> None:
    try:
        made = Templates.from_dict(data)
    except TemplateError as error:
        assert "\n" not in str(error)
        return
    fact = made.fill(Triple("<object>", "p", "<subject>"))
    assert isinstance(fact.text, str)


def receipts(data: Any) -> None:
    found = Receipt.from_json(data)
    assert found is None or Receipt.from_json(found.to_json()) == found


texts = {"triples": triples, "meanings": meanings}
objects = {"templates": templates, "receipts": receipts}
template_files = st.one_of(
    values,
    st.dictionaries(
        st.sampled_from(["p", "$aliases", "$optional", "$version", "version", "q"]),
        st.one_of(values, st.just("<subject> is <object>."), st.dictionaries(st.text(max_size=3), st.text(max_size=9))),
    ),
)


@pytest.mark.parametrize("target", texts)
@SHORT
@given(text=pieces)
def test_texts(target: str, text: str) -> None:
    texts[target](text)


@pytest.mark.parametrize("target", objects)
@SHORT
@given(data=template_files)
def test_objects(target: str, data: Any) -> None:
    objects[target](data)


@pytest.mark.slow
@pytest.mark.parametrize("target", texts)
@LONG
@given(text=pieces)
def test_texts_for_long(target: str, text: str) -> None:
    texts[target](text)


@pytest.mark.slow
@pytest.mark.parametrize("target", objects)
@LONG
@given(data=template_files)
def test_objects_for_long(target: str, data: Any) -> None:
    objects[target](data)


@pytest.fixture(scope="module")
def changing(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(bundle, tmp_path_factory.mktemp("fuzz") / "b"))


def places(value: Any, base: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside a JSON value."""
    found = [base]
    if isinstance(value, dict):
        return found + [path for key, inner in value.items() for path in places(inner, (*base, key))]
    if isinstance(value, list):
        return found + [path for i, inner in enumerate(value) for path in places(inner, (*base, i))]
    return found


def descriptions(bundle: Path, changing: Path, draw: Callable[[Any], Any]) -> None:
    """One value of a good bundle.json replaced, or taken away: it opens, or is refused as a bundle is."""
    manifest = json.loads((bundle / "bundle.json").read_text())
    changed = copy.deepcopy(manifest)
    path = draw(st.sampled_from(places(manifest)[1:]))
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    if draw(st.booleans()):
        del holder[path[-1]]
    else:
        holder[path[-1]] = draw(st.one_of(values, st.sampled_from([-1, 2**70, 1e400, "x" * 10_000, "../x", [[]]])))
    (changing / "bundle.json").write_text(json.dumps(changed))
    try:
        opened = Bundle.load(changing)
        for precision in opened.variants:
            opened.variant(precision)
    except BundleError as error:
        assert "\n" not in str(error)


@SHORT
@given(data=st.data())
def test_descriptions_of_bundles(bundle: Path, changing: Path, data: st.DataObject) -> None:
    descriptions(bundle, changing, data.draw)


@pytest.mark.slow
@LONG
@given(data=st.data())
def test_descriptions_of_bundles_for_long(bundle: Path, changing: Path, data: st.DataObject) -> None:
    descriptions(bundle, changing, data.draw)


def test_long_hostile_texts_take_linear_time() -> None:
    for text in ("name[" * 50_000, "a | " * 100_000, "[" * 200_000, "name[A], " * 50_000, " " * 500_000 + "|"):
        began = time.monotonic()
        parse_mr(text)
        parse_triple(text)
        assert time.monotonic() - began < 3


def test_the_errors_are_ours() -> None:
    assert issubclass(BundleError, ScorerError) and issubclass(TemplateError, ScorerError)
