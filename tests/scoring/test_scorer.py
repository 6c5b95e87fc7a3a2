"""The public scorer: rows, tables and batches agree; what signs it, what processes may do with it, and real bundles."""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer import Scorer, Triple
from scorer.errors import ScorerError, UsageError
from scorer.inference import BUILTIN_BUNDLES
from scorer.inference.bundle import Bundle
from scorer.inference.verification import measure, open_engine
from scorer.storage.receipts import line_parts
from tests.bundles import RESTAURANTS, make_bundle, needs_vnni

TEMPLATES = {"eatType": "<subject> is a <object>."}
ROWS = pa.table(
    {
        "text": ["The Mill is a pub.", "", None, "The Mill serves cheap food.", "pub " * 200],
        "mr": ["name[The Mill], eatType[pub], area[riverside]"] * 5,
        "weight": [1, 2, 3, 4, 5],
    }
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("api") / "tiny", precisions=("fp32", "int8"), templates=TEMPLATES)


def test_one_row_and_a_table_agree(bundle: Path) -> None:
    opened = Scorer(bundle, device="cpu")
    table = opened.score_table(ROWS)
    assert table.schema.names[:3] == ROWS.schema.names
    assert table.select(ROWS.schema.names).equals(ROWS)
    assert table["error"].to_pylist() == [None, None, "null_text", None, "too_long:omission+hallucination"]
    triples = [Triple("The Mill", "eatType", "pub"), Triple("The Mill", "area", "riverside")]
    for text, row in zip(ROWS["text"].to_pylist(), table.to_pylist(), strict=True):
        verdict = opened.score(triples, text)
        for name in ("fine", "rough", "confidence", "omitted", "fact_entailment", "text_entailment", "error", "note"):
            assert getattr(verdict, name) == row[name]
        assert verdict.facts == ["The Mill is a pub.", "The area of The Mill is riverside."]


def test_batches_and_lists_are_scored_as_the_whole_table(bundle: Path) -> None:
    opened = Scorer(bundle)
    whole = opened.score_table(ROWS)
    parts = list(opened.score_batches(ROWS.to_batches(max_chunksize=2)))
    assert [len(part) for part in parts] == [2, 2, 1]
    for name in ("fine", "row_key"):
        assert pa.concat_tables(parts)[name].to_pylist() == whole[name].to_pylist()
    assert opened.score_table(ROWS.to_pylist()) == whole.to_pylist()
    assert next(opened.score_batches([ROWS.to_pylist()])) == whole.to_pylist()


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_data_frame_is_scored_as_a_table(bundle: Path, library: str) -> None:
    module: Any = importlib.import_module(library) if library == "polars" else pytest.importorskip(library)
    opened, triple = Scorer(bundle), Triple("The Mill", "food", "fish")
    expected = opened.score_table([{"triples": [triple], "text": text} for text in ("Fish.", "")])
    frame = module.DataFrame([{"triples": [list(triple)], "text": text, "id": 7} for text in ("Fish.", "")])
    found = opened.score_table(frame)
    assert isinstance(found, module.DataFrame) and list(found["id"]) == [7, 7]
    for name in ("fine", "confidence", "row_key"):
        assert list(found[name]) == [row[name] for row in expected]
    (again,) = opened.score_batches([frame])
    assert isinstance(again, module.DataFrame) and list(again["fine"]) == list(found["fine"])
    with pytest.raises(TypeError, match="a single one in a list"):
        opened.score_batches(frame)


def test_the_signature_names_what_a_score_depends_on(bundle: Path) -> None:
    signed = Scorer(bundle, device="cpu").full_signature
    base = signed.line
    assert line_parts(base)["model"].startswith("tiny@")
    expected = {
        **{"model": "", "prec": "int8", "ep": "cpu", "exact": "no", "templates": "", "protocol": "paper"},
        **{"optional": "none", "checks": "both", "maxlen": "128", "overlong": "error", "metric": "4"},
    }
    assert list((line_parts(base) | {"model": "", "templates": ""}).items()) == list(expected.items())
    for options, key in (({"precision": "fp32"}, "prec"), ({"templates": {}}, "templates")):
        (difference,) = signed.changes_to(Scorer(bundle, device="cpu", **options).full_signature)  # type: ignore[arg-type]
        assert difference.key == key
    assert signed.changes_to(Scorer(bundle, device="cpu").full_signature) == []


@pytest.mark.parametrize(("part", "text"), [("pub", "a \ud83e pub"), ("a \udcff", "A pub."), ("\ud83e", "\ud83e")])
def test_half_a_character_costs_its_row(bundle: Path, part: str, text: str) -> None:
    """Python's strings can hold what UTF-8 cannot: from JSON, or from a command line in another encoding."""
    verdict = Scorer(bundle).score([("The Mill", "eatType", part)], text)
    assert (verdict.fine, verdict.error) == (None, "invalid_utf8")


_OPENED: list[Scorer] = []


def _score_in_a_fork() -> list[str]:
    """What a scorer that was opened before the fork says; run in the forked process."""
    said = []
    for method, arguments in (("score", (["a | b | c"], "A.")), ("score_table", (ROWS,)), ("score_batches", ([ROWS],))):
        with pytest.raises(UsageError) as refused:
            getattr(_OPENED[0], method)(*arguments)
        said.append(str(refused.value))
    _OPENED[0].close()
    return said


def test_after_a_fork_a_scorer_says_so_instead_of_hanging(bundle: Path) -> None:
    with Scorer(bundle) as opened:
        _OPENED[:] = [opened]
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert all("fork" in said for said in pool.apply_async(_score_in_a_fork).get(timeout=120))
        assert opened.score([("X", "eatType", "pub")], "X is a pub.").error is None
        batches = opened.score_batches([ROWS] * 50)
        next(batches)
    with pytest.raises(UsageError, match="closed"):
        list(batches)


def test_a_scorer_is_not_pickled_but_its_settings_are(bundle: Path) -> None:
    opened = Scorer(bundle)
    with pytest.raises(ScorerError, match="in each process"):
        pickle.dumps(opened)
    again = Scorer(**pickle.loads(pickle.dumps(opened.settings)).arguments())
    assert again.signature == opened.signature


def test_a_device_is_verified_alike_under_both_protocols(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probes are pairs as the tokenizer writes them; a first use under ``nlgi_eval`` must not judge others."""
    found = []
    for protocol in ("paper", "nlgi_eval"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / protocol))
        report = Scorer(bundle, protocol=protocol, precision="fp32").engine.report
        found.append(replace(report, token_budget=0))  # chosen by seconds
    assert found[0] == found[1]
    assert found[0].bound < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=needs_vnni)])
def test_the_device_keeps_the_checkpoint_s_labels(precision: str) -> None:
    with open_engine(Bundle.load(RESTAURANTS), device="cpu", precision=precision) as engine:
        facts = measure(engine, engine.grid.token_budget)
    assert facts.agreement >= 0.99 and facts.invariance_error == 0
    assert facts.bound < (1e-3 if precision == "fp32" else 0.3)


def test_the_general_model_sees_what_is_wrong_in_three_domains() -> None:
    """Its mistakes are known: it passes *his best game of the season* and, on one side of two, 109 points for 104. A
    character that it does not know is noted."""
    table = pq.read_table(BUILTIN_BUNDLES["embedded"].parent / "domains.parquet")
    with Scorer.embedded(device="cpu") as opened:
        found = opened.score_table(table)["fine"].to_pylist()
        known = opened.score([("The Mill", "food", "Thai")], "The Mill serves Thai food.")
        unknown = opened.score([("The Mill", "rating", "\U0001f7e2")], "The rating of The Mill is \U0001f534.")
    rows = zip(table.to_pylist(), found, strict=True)
    wrong = [(row["domain"], row["system"]) for row, label in rows if label != row["gold_fine"]]
    assert wrong == [("basketball", "chatty"), ("basketball", "wrong")]
    assert known.note is None and unknown.note == "unknown_tokens"
