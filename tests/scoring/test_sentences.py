"""``--sentences`` on the whole road, with a real engine and a model small enough to follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import Scorer
from scorer.metric import ColumnNames
from scorer.metric.checks import HALLUCINATION, SENTENCE
from scorer.metric.inputs import find_columns
from scorer.metric.verdict import by_worst_sentence
from scorer.scoring.pipeline import Window
from scorer.status import TOO_LONG
from tests.bundles import make_bundle

SENTENCES = [
    "The Mill is a pub.",
    "It serves cheap French food!",
    "Blue Spice is near Crowne Plaza Hotel.",
    "Alan Bean was born in Wheeler, Texas.",
    "Is it 5 out of 5?",
]
TRIPLES = [
    ("The Mill", "eatType", "pub"),
    ("The Mill", "food", "French"),
    ("The Mill", "priceRange", "cheap"),
    ("Blue Spice", "near", "Crowne Plaza Hotel"),
    ("Alan Bean", "birthPlace", "Wheeler, Texas"),
    ("The Mill", "customer rating", "5 out of 5"),
]


FORM = pa.list_(pa.list_(pa.string(), 3))


def rows(n: int) -> pa.Table:
    """Texts of 0 to 8 sentences about 1 to 14 facts, some null, some blank, many twice."""
    texts = ["  ".join((SENTENCES * 2)[i % 5 :][: (i * 7) % 9]) or "é." for i in range(n)]
    said = [None if i % 13 == 4 else " " if i % 13 == 5 else text for i, text in enumerate(texts)]
    triples = [(TRIPLES * 3)[i % 6 :][: 1 + (i * 5) % 14] for i in range(n)]
    return pa.table({"id": range(n), "text": pa.array(said, pa.string()), "triples": pa.array(triples, FORM)})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("sentences") / "tiny", max_length=96)


@pytest.fixture(scope="module")
def scorer(bundle: Path) -> Scorer:
    return Scorer(bundle, device="cpu", sentences=True, checks="hallucination")


def alike(one: Any, other: Any) -> bool:
    """The same values, probabilities as closely as a batch of another size gives them."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-4, abs=1e-6)
    return bool(one == other)


TEXTS = st.none() | st.lists(st.sampled_from([*SENTENCES, "Ünï 😀.", "\n\n", " ", "pub " * 60]), max_size=6).map(
    "  ".join
)
FACTS = st.lists(st.sampled_from([*TRIPLES, ("The Mill", "area", " ")]), max_size=12)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(FACTS, TEXTS), min_size=1, max_size=8), st.integers(1, 4))
def test_any_rows_in_any_windows(scorer: Scorer, made: list[tuple[Any, str | None]], size: int) -> None:
    texts = pa.array([text for _, text in made], pa.string())
    table = pa.table({"id": range(len(made)), "text": texts, "triples": pa.array([row for row, _ in made], FORM)})
    columns = find_columns(table.schema, scorer.pipeline.names)
    items = [Window(i, table.slice(i, size), columns) for i in range(0, len(table), size)]
    out = pa.concat_tables([scored.table for scored in scorer.pipeline.stream(items)])
    out.validate(full=True)
    assert out["id"].to_pylist() == list(range(len(made)))
    assert alike(out.to_pylist(), scorer.score_table(table).to_pylist())
    for row in out.to_pylist():
        text, found = row["text"], row["sentences"]
        if row["error"] in ("null_text", "no_triples", "malformed_triples"):
            assert found is None
            continue
        assert (found == []) == (row["note"] == "empty_text") == (not text.strip())
        covered = "".join(text[s["start"] : s["end"]] for s in found)
        assert "".join(covered.split()) == "".join(text.split()), "every sentence once and in order"
        if row["fine"] is not None and "by_sentences" in (row["note"] or ""):
            assert row["confidence"] == min(s["entailment"] for s in found)


@pytest.mark.parametrize("protocol", ["paper", "nlgi_eval"])
def test_what_is_asked_fits_the_model_as_closely_as_it_can(bundle: Path, protocol: str) -> None:
    opened = Scorer(bundle, device="cpu", sentences=True, protocol=protocol)
    table = rows(60)
    prepared = opened.pipeline.prepare(find_columns(table.schema, ColumnNames()).rows(table))
    checks, work = prepared.checks, prepared.work
    status = work.status[work.pairs.inverse]
    assert not (status[checks.kind == HALLUCINATION] == TOO_LONG).any(), "what does not fit is left to the sentences"
    assert not (status[checks.kind == SENTENCE] == TOO_LONG).any()
    assert checks.sentences is not None
    whole = set(checks.row[checks.kind == HALLUCINATION].tolist())
    decided = set(checks.sentences.decides.nonzero()[0].tolist())
    assert whole and decided and not whole & decided
    plain = Scorer(bundle, device="cpu", protocol=protocol).score_table(table)
    too_long = [i for i, error in enumerate(plain["error"].to_pylist()) if error and "hallucination" in error]
    assert sorted(decided) == too_long, "exactly the rows that a run without --sentences could not judge"


def test_the_worst_sentence_decides_where_the_settings_say_so(bundle: Path) -> None:
    """Not under ``nlgi_eval``, nor for documents; the signature says it, with the splitter."""
    ours = Scorer(bundle, device="cpu", sentences=True)
    assert "|sentences:worst|splitter:nupunkt-" in ours.signature
    for other in (
        Scorer(bundle, device="cpu", sentences=True, protocol="nlgi_eval"),
        Scorer(bundle, device="cpu", columns=ColumnNames(document="document")),
    ):
        assert "|sentences:nupunkt-" in other.signature and "worst" not in other.signature
    table = rows(60)
    with_sentences, plain = ours.score_table(table), Scorer(bundle, device="cpu").score_table(table)
    several = [len(found or ()) > 1 for found in with_sentences["sentences"].to_pylist()]
    pairs = list(zip(with_sentences["fine"].to_pylist(), plain["fine"].to_pylist(), several, strict=True))
    assert all(one == other for one, other, many in pairs if one and other and not many)
    omissions = [("omission" in one, "omission" in other) for one, other, _ in pairs if one and other]
    assert all(one == other for one, other in omissions), "the other side does not depend on sentences"


def test_exact_computes_in_fp32_what_margins_decide(bundle: Path) -> None:
    scorer = Scorer(bundle, device="cpu", sentences=True)
    table = rows(60)
    prepared = scorer.pipeline.prepare(find_columns(table.schema, ColumnNames()).rows(table))
    always, checks = prepared.work.always_exact, prepared.checks
    assert always is not None and 0 < always.sum() < len(always)
    assert always[prepared.work.pairs.inverse[by_worst_sentence(checks)]].all()
    plain = Scorer(bundle, device="cpu").pipeline.prepare(find_columns(table.schema, ColumnNames()).rows(table))
    assert plain.work.always_exact is None
