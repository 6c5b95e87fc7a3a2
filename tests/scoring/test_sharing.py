"""The statements of docs/python.md: threads, async, pickling, public names, verdicts as JSON, and pairs of texts."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

import scorer
from scorer import ColumnNames, Scorer, ScorerError, Triple, Verdict
from scorer.errors import UsageError
from tests.bundles import expected_logits, tokenizer
from tests.conftest import ROOT
from tests.processes import LIMIT_S

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def opened(tiny: Path) -> Iterator[Scorer]:
    with Scorer(tiny, device="cpu", precision="fp32") as opened:
        yield opened


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads take turns after a few instructions, so that what is not guarded goes wrong."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def rows(number: int) -> list[tuple[list[Triple], str]]:
    """Rows whose words no other row has, so that each window adds to what the tokenizer keeps."""
    names = [f"Place{number}x{i}" for i in range(20)]
    return [([Triple(name, "area", f"r{number} {i}")], f"{name} is at r{number}.") for i, name in enumerate(names)]


def table(number: int) -> list[dict[str, Any]]:
    return [{"triples": triples, "text": text} for triples, text in rows(number)]


@pytest.mark.parametrize("options", [{"precision": "fp32"}, {"precision": "int8", "exact": True, "sentences": True}])
def test_threads_get_the_verdicts_of_calls_one_after_the_other(
    tiny: Path, options: dict[str, Any], eager_switching: None
) -> None:
    with Scorer(tiny, device="cpu", **options) as alone:
        alone.score_table(table(-1))  # measures the bound of exact
        expected = [alone.score_table(table(i)) for i in range(12)]
        batches = list(alone.score_batches([table(i) for i in range(4)]))
        verdicts = [alone.score(*rows(i)[0]) for i in range(12)]
    with Scorer(tiny, device="cpu", **options) as shared, ThreadPoolExecutor(6) as threads:
        shared.score_table(table(-1))
        tables = [threads.submit(shared.score_table, table(i)) for i in range(12)]
        streams = [threads.submit(lambda: list(shared.score_batches([table(i) for i in range(4)]))) for _ in range(2)]
        single = [threads.submit(shared.score, *rows(i)[0]) for i in range(12)]
        assert [future.result() for future in tables] == expected
        assert [future.result() for future in streams] == [batches, batches]
        assert [future.result() for future in single] == verdicts


def test_a_stream_that_ends_early_cancels_no_call_of_another_thread(tiny: Path) -> None:
    with Scorer(tiny, device="cpu") as shared, ThreadPoolExecutor(2) as threads:
        for number in range(10):
            others = [threads.submit(shared.score_table, table(100 * number + i)) for i in range(4)]
            stream = shared.score_batches([table(number)] * 20)
            next(stream)
            stream.close()  # type: ignore[attr-defined]  # it is a generator
            assert all(row["fine"] for future in others for row in future.result())


def test_a_cancelled_stream_names_the_prediction_that_it_ends(opened: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call of another prediction goes on, whatever ends; its own one is cancelled."""
    engine, mine, other = opened.engine, threading.Event(), threading.Event()
    options = type("RunOptions", (), {"terminate": False})()
    monkeypatch.setattr(engine.thread, "running", options)
    monkeypatch.setattr(engine, "_stop", mine)
    engine.cancel(other)
    assert not options.terminate
    engine.cancel(mine)
    assert options.terminate


def test_a_scorer_that_another_thread_closes_says_so(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Scorer(tiny, device="cpu")
    prepare = shared.pipeline.prepare

    def closed_meanwhile(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        closing = threading.Thread(target=shared.close)
        closing.start()
        closing.join()
        return prepared

    monkeypatch.setattr(shared.pipeline, "prepare", closed_meanwhile)
    with pytest.raises(UsageError, match="this Scorer is closed"):
        shared.score(*rows(0)[0])


def test_the_event_loop_goes_on_while_a_thread_scores(opened: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is prepared only after the loop has gone on."""
    expected, prepare = opened.score(*rows(7)[0]), opened.pipeline.prepare
    preparing, gone_on = threading.Event(), threading.Event()

    def prepare_later(*arguments: Any) -> Any:
        preparing.set()
        assert gone_on.wait(LIMIT_S), "the loop waits for the row"
        return prepare(*arguments)

    async def score() -> Verdict:
        scoring = asyncio.create_task(asyncio.to_thread(opened.score, *rows(7)[0]))
        while not (preparing.is_set() or scoring.done()):
            await asyncio.sleep(0)
        gone_on.set()
        return await scoring

    monkeypatch.setattr(opened.pipeline, "prepare", prepare_later)
    assert asyncio.run(score()) == expected and preparing.is_set()


def test_what_the_page_says_can_be_pickled(opened: Scorer) -> None:
    verdict = opened.score(*rows(1)[0])
    for value in (verdict, opened.settings, ColumnNames(prefix="m_"), Triple("a", "b", "c")):
        assert pickle.loads(pickle.dumps(value)) == value
    error = pickle.loads(pickle.dumps(UsageError("a line")))
    assert isinstance(error, ScorerError) and str(error) == "a line"


def test_the_public_names_are_those_of_the_page() -> None:
    listed = PAGE.partition("- **Public**")[2].partition("- **Stable**")[0].partition("ScoreBatches`:")[2]
    assert re.findall(r"`(\w+)`", listed) == scorer.__all__
    assert all(getattr(scorer, name) is not None for name in scorer.__all__)


def test_a_verdict_is_json_and_a_member_of_a_set(tiny: Path) -> None:
    with Scorer(tiny, device="cpu", sentences=True) as opened:
        triples, text = [*rows(2)[0][0], Triple("The Mill", "food", "fish")], "The Mill. It is a pub, \ud83e and cheap."
        verdicts = [opened.score(triples, given) for given in (text, text.replace("\ud83e", ""), None, "")]
        again = [opened.score(triples, given) for given in (text, text.replace("\ud83e", ""), None, "")]
    for verdict in verdicts:
        plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
        assert plain.keys() == vars(verdict).keys() and plain["facts"] == verdict.facts
        assert [check["entailment"] for check in plain["checks"]] == [check.entailment for check in verdict.checks]
    assert {*verdicts} == {*again} and len({*verdicts}) == 4


def test_pairs_have_the_probabilities_of_the_model(opened: Scorer) -> None:
    premises = ["The Mill is a pub.", "Blue Spice", "pub " * 200, "half \ud83e", "Blue Spice"]
    hypotheses = ["Blue Spice", "The Mill is a pub.", "A pub.", "A pub.", "The Mill is a pub."]
    found = opened.score_pairs(premises, hypotheses)
    assert (found.dtype, found.shape) == (np.dtype(np.float32), (5, 3))
    made = tokenizer()
    for row in (0, 1, 4):
        ids = made.encode(premises[row], hypotheses[row]).ids
        assert found[row] == pytest.approx(softmax(expected_logits(ids, made.get_vocab_size())), abs=1e-5)
    assert np.isnan(found[2:4]).all()
    assert opened.score_pairs([], iter([])).shape == (0, 3)


def test_pairs_are_the_checks_of_a_verdict(opened: Scorer) -> None:
    checks = opened.score([Triple("The Mill", "eatType", "pub"), Triple("The Mill", "food", "fish")], "A pub.").checks
    found = opened.score_pairs([check.premise for check in checks], [check.hypothesis for check in checks])
    assert found.tolist() == [[check.contradiction, check.neutral, check.entailment] for check in checks]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("A text.", ["A text."]), "premises is 'A text.' (str); give a list of strings"),
        ((["A text."], [3]), "hypotheses[0] is 3 (int); give a string"),
        ((["a", "b"], ["c"]), "there are 2 premises and 1 hypotheses; give equally many"),
    ],
)
def test_pairs_of_another_form_are_named(arguments: Any, message: str, opened: Scorer) -> None:
    with pytest.raises((TypeError, UsageError)) as refused:
        opened.score_pairs(*arguments)
    assert str(refused.value) == message
