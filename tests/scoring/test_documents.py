"""Texts against documents, with a real engine, compared with a few lines that ask the engine pair by pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer import Scorer
from scorer.errors import ColumnError, UsageError
from scorer.inference.schemes import BINARY, NLI, SCORE
from scorer.metric.chunks import SEPARATOR, one_line
from scorer.metric.document_checks import LEAST_TOKENS, MOST_TOKENS
from scorer.metric.inputs import ColumnNames
from scorer.scoring.signature import parse
from scorer.scoring.splitting import open_splitter
from tests.bundles import make_bundle
from tests.scoring.test_sentences import SENTENCES

pytest.importorskip("nupunkt", reason="the extra sentences is not installed")

DOCUMENT = " ".join(f"In {1900 + i} it was so. {SENTENCES[i % 5]}" for i in range(30))


def table() -> pa.Table:
    """Documents and lists of passages, long and short, with texts of one to four sentences; some say nothing."""
    texts: list[str | None] = [" ".join(SENTENCES[i % 5 :][: 1 + i % 4]) for i in range(24)]
    documents: list[list[str | None] | None] = [
        [DOCUMENT[: 40 + 90 * i], None, " ", *SENTENCES[i % 5 :]] for i in range(24)
    ]
    texts[5:7], documents[7] = [None, " "], None
    return pa.table({"text": texts, "document": documents})


@pytest.mark.parametrize(
    ("scheme", "labels", "order"),
    [
        ((NLI, None, 0.5), ("contradiction", "neutral", "entailment"), "premise_first"),
        ((BINARY, "supported", 0.3), ("supported", "not"), "hypothesis_first"),
        ((SCORE, None, 0.7), ("score",), "premise_first"),
    ],
)
def test_rows_are_what_the_pairs_say(
    tmp_path: Path, scheme: tuple[str, str | None, float], labels: tuple[str, ...], order: str
) -> None:
    bundle = make_bundle(tmp_path / "tiny", max_length=160, scheme=scheme, labels=labels, order=order)
    given = table()
    with Scorer(bundle, device="cpu", documents=True, columns=ColumnNames(details=True)) as scorer:
        found = scorer.score_table(given)
        engine, splitter = scorer.engine, open_splitter()
        assert found.select(given.schema.names).equals(given)
        scored = 0
        for row in found.to_pylist():
            if row["error"] or row["note"]:
                continue
            document, text = SEPARATOR.join(filter(None, row["document"])), row["text"]
            spans = splitter.split(text)
            assert [(s["start"], s["end"]) for s in row["sentences"]] == spans
            sentences = [text[a:b] for a, b in spans]
            longest = int(engine.lengths(sentences, hypothesis=True).max())
            most = max(LEAST_TOKENS, min(MOST_TOKENS, engine.room - longest))
            scores, passed = [], []
            verdict = scorer.score_document(row["document"], text)
            for number, (sentence, evidence) in enumerate(zip(sentences, row["sentences"], strict=True)):
                chunks = list(dict.fromkeys(c.premise for c in verdict.checks if c.hypothesis == sentence))
                assert (engine.lengths(chunks, hypothesis=False) <= most).all()
                assert " ".join(document.split()).startswith(chunks[0]) and document.rstrip().endswith(chunks[-1][-9:])
                logits = engine.logits(chunks, [sentence] * len(chunks))
                probabilities = engine.bundle.scheme.probabilities(logits)
                best = int(np.argmax(probabilities[:, 2]))
                scores.append(float(probabilities[best, 2]))
                said = labels.index("entailment") if scheme[0] == NLI else 1
                passed.append(bool((engine.bundle.scheme.decisions(logits) == said).any()))
                assert one_line(document[evidence["chunk_start"] : evidence["chunk_end"]]) == chunks[best]
                assert evidence["entailment"] == pytest.approx(scores[-1], abs=1e-5)
                details = [check for check in row["details"] if check["sentence"] == number]
                detail = max(details, key=lambda check: check["entailment"])
                assert {"chunk_start", "chunk_end", "entailment"} <= detail.keys() & evidence.keys()
                assert all(detail[name] == value for name, value in evidence.items() if name in detail)
            assert row["confidence"] == pytest.approx(min(scores), abs=1e-5)
            assert row["mean_entailment"] == pytest.approx(sum(scores) / len(scores), abs=1e-5)
            assert row["fine"] == ("OK" if all(passed) else "hallucination")
            assert row["omitted"] is row["fact_entailment"] is row["text_entailment"] is None
            scored += 1
        assert scored == 21
    assert found["error"].to_pylist()[5:8] == ["null_text", None, "no_document"]


def test_a_scorer_checks_one_kind_of_input_which_its_signature_says(tiny: Path) -> None:
    with Scorer(tiny, device="cpu") as facts, Scorer(tiny, device="cpu", documents=True) as documents:
        parts = parse(documents.signature)
        assert parts["input"] == "document" and "templates" not in parts
        assert "input" not in parse(facts.signature)
        named = Scorer(tiny, device="cpu", columns=ColumnNames(document="source"), checks="hallucination")
        assert named.full_signature == documents.full_signature
        with pytest.raises(UsageError, match="documents=True"):
            facts.score_document("A.", "B.")
        with pytest.raises(UsageError, match="score_document"):
            documents.score_facts(["A."], "B.")
        with pytest.raises(TypeError, match="document"):
            documents.score_document(5, "B.")  # type: ignore[arg-type]
        both = pa.table({"text": ["A."], "document": ["A."], "facts": [["A."]]})
        assert "mean_entailment" in documents.score_table(both).schema.names
        with pytest.raises(ColumnError, match="'facts' and 'document'"):
            facts.score_table(both)
