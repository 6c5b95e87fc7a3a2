"""The engine against the follow-along model; labels of fp32 from a variant that strays."""

from __future__ import annotations

import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from scipy.special import softmax

from scorer.errors import BundleError, DeviceError
from scorer.inference import engine, session
from scorer.inference.bundle import Bundle
from scorer.inference.device import CPU, CUDA
from scorer.inference.engine import EXACT_FACTOR, EXACT_PAIRS, Engine, Predictions, join_bounds, margin_of
from scorer.inference.verification import open_engine
from scorer.status import SCORED
from scorer.system.bounds import ExactBound
from tests.bundles import expected_logits, make_bundle, tokenizer
from tests.inference.wrapping import Wrapped, wrap_sessions

TEXTS = ["The Mill is a pub.", "Blue Spice", "cheap French food " * 6, "near Crowne Plaza Hotel", "x"]


def ask(engine: Engine, pairs: list[tuple[int, int]], texts: list[str] = TEXTS) -> Predictions:
    premise, hypothesis = np.array(pairs, np.int32).reshape(-1, 2).T
    return engine.predict(engine.encode(texts, premise, hypothesis))


def test_answers_are_the_model_s(tiny: Path) -> None:
    engine = open_engine(Bundle.load(tiny), device="cpu", precision="fp32")
    probes = engine.computed  # none where the report of the variant was on record
    pairs = [(0, 1), (2, 3), (1, 0), (0, 1), (4, 4), (2, 2)]
    answers = ask(engine, pairs)
    made = tokenizer()
    for (a, b), probabilities in zip(pairs, answers.probabilities, strict=True):
        ids = made.encode(TEXTS[a], TEXTS[b]).ids
        assert probabilities == pytest.approx(softmax(expected_logits(ids, made.get_vocab_size())), abs=1e-5)
    assert answers.status.tolist() == [SCORED] * len(pairs)
    assert engine.computed - probes == 5


def test_what_is_too_long_is_cut_as_the_tokenizer_cuts_it(tiny: Path) -> None:
    texts = ["The Mill", "pub " * 200, "y" * 10_000_000]
    cutting = open_engine(Bundle.load(tiny), device="cpu", precision="fp32", truncate=True)
    answers = ask(cutting, [(0, 0), (0, 1), (2, 0), (1, 2)], texts)
    assert answers.status.tolist() == [SCORED] * 4
    assert answers.truncated.tolist() == [False, True, True, True]
    reference = tokenizer()
    reference.enable_truncation(128)
    ids = reference.encode(texts[0], texts[1]).ids
    expected = softmax(expected_logits(ids, reference.get_vocab_size()))
    assert answers.probabilities[1] == pytest.approx(expected, abs=1e-5)


def test_a_provider_that_falls_back_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is listed, but the session that comes back runs on the CPU: what a missing cuDNN looks like."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    original = onnxruntime.InferenceSession

    def on_cpu(model: str, options: Any, providers: list[Any], **others: Any) -> Any:
        return original(model, options, providers=[CPU], **others)

    monkeypatch.setattr(onnxruntime, "InferenceSession", on_cpu)
    with pytest.raises(DeviceError, match="took CPUExecutionProvider"):
        open_engine(Bundle.load(tiny), device="cuda")
    assert open_engine(Bundle.load(tiny), device="auto").device.kind == "cpu"


def test_auto_takes_the_next_precision_where_the_preferred_one_changes_labels(tmp_path: Path) -> None:
    """As int8 of another export does on processors without VNNI, whose sums of products saturate."""
    opened = Bundle.load(make_bundle(tmp_path / "b", precisions=("fp32", "int8"), bad={"int8": ("The", 9.0)}))
    said = list[str]()
    engine = open_engine(opened, device="cpu", warn=said.append)
    assert engine.report is not None and (engine.precision, engine.report.agreement) == ("fp32", 1.0)
    assert engine.fallback_reason and f"tiny int8 on cpu is not used, fp32 is tried: {engine.fallback_reason}" in said
    with pytest.raises(BundleError, match="int8 variant on cpu"):
        open_engine(opened, device="cpu", precision="int8")


WORDS = [
    "pub", "The Mill", "Blue Spice", "cheap", "French food", "Crowne Plaza", "near", "riverside", "x", "high price",
]  # fmt: skip
MANY = [f"{one} {other} {one}" for one in WORDS for other in WORDS]


class Straying(Wrapped):
    """A session whose logits are off by up to ``most``, each pair's by an amount of its own."""

    def __init__(self, session: Any, most: float) -> None:
        super().__init__(session)
        self._most = most

    def run(self, names: list[str], feed: dict[str, np.ndarray], options: Any = None) -> Any:
        logits = self.inner.run(names, feed, options)[0]
        for row, ids in zip(logits, feed["input_ids"], strict=True):
            real = ids[ids != 1].tobytes()  # without padding, so that the amount is the pair's alone
            row += np.random.default_rng(zlib.crc32(real)).uniform(-self._most, self._most, 3).astype(np.float32)
        return [logits]


def pairs_of_texts() -> tuple[np.ndarray, np.ndarray]:
    every = np.arange(len(MANY), dtype=np.int32)
    premise, hypothesis = np.meshgrid(every, every[::5])
    return premise.ravel(), hypothesis.ravel()


def labels(engine: Engine) -> tuple[np.ndarray, int]:
    work = engine.encode(MANY, *pairs_of_texts())
    answers = engine.predict(work)
    assert (answers.status == SCORED).all()
    return answers.probabilities.argmax(axis=1), work.recomputed


@pytest.mark.parametrize("known", [True, False])
def test_labels_are_those_of_fp32_where_the_variant_s_are_not(
    tiny: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = labels(open_engine(Bundle.load(tiny), device="cpu", precision="fp32"))
    with monkeypatch.context() as straying:
        wrap_sessions(straying, lambda session: Straying(session, 0.4))
        plain = open_engine(Bundle.load(tiny), device="cpu", precision="int8")
        fast = open_engine(Bundle.load(tiny), device="cpu", precision="int8", exact=True)
    without, none = labels(plain)
    assert (without != expected).sum() > 20 and none == 0
    fast.bound = ExactBound(EXACT_PAIRS, 0.4) if known else None
    found, again = labels(fast)
    assert (found == expected).all()
    assert 0 < again < len(expected)
    assert fast.bound is not None and 0.35 < fast.bound.largest <= 0.4
    assert fast.bound.pairs == (EXACT_PAIRS if known else len(expected))


def test_the_bound_is_the_largest_seen_and_at_least_the_probes_until_enough_were() -> None:
    zero = np.zeros((3, 3), np.float32)
    off = zero + np.array([[0.1], [-0.25], [np.nan]], np.float32)
    one = join_bounds(off, zero, at_least=0.5)
    assert one == ExactBound(2, 0.5)
    assert margin_of(one) == 2 * EXACT_FACTOR * 0.5
    assert join_bounds(off, zero, at_least=0.0).largest == 0.25
    many = np.zeros((EXACT_PAIRS, 3), np.float32)
    assert join_bounds(many, many, 0.5, ExactBound(2, 0.25)) == ExactBound(EXACT_PAIRS + 2, 0.25)


def test_the_session_is_opened_while_the_tokenizer_is_read(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, create, read = threading.Event(), session.create_session, engine.TextTokenizer

    def creating(*given: Any, **options: Any) -> Any:
        opened.set()
        return create(*given, **options)

    def reading(bundle: Bundle) -> Any:
        assert opened.wait(60), "the session waits for the tokenizer"
        return read(bundle)

    monkeypatch.setattr(session, "create_session", creating)
    monkeypatch.setattr(engine, "TextTokenizer", reading)
    open_engine(Bundle.load(tiny), device="cpu", precision="fp32").close()
