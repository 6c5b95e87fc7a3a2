"""The public sentence pairs: which are judged, and their figures against counts by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.paper.challenge.natural import NaturalResult, judge_natural
from benchmarks.paper.challenge.sentence_pairs import is_trained
from scorer.scoring.scorer import Scorer


class Truthful:
    """As much of a Scorer as judging needs: a text is entailed if its fact begins with the same letter."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score_batches(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            rows = [
                (facts[0], text) for facts, text in zip(*(table[n].to_pylist() for n in ("facts", "text")), strict=True)
            ]
            self.asked += rows
            right = [fact[0] == text[0] for fact, text in rows]
            yield pa.table(
                {"fine": ["OK" if one else "hallucination" for one in right],
                 "text_entailment": [0.9 if one else 0.2 for one in right]}
            )  # fmt: skip


def folder(path: Path) -> Path:
    pq.write_table(
        pa.table({"sentence1": ["a 1", "a 2", "a 3"], "sentence2": ["a one", "b two", "b three"],
                  "paraphrase": [True, False, True], "split": ["test", "test", "dev"]}),
        path / "paws_wiki_dev_test.parquet",
    )  # fmt: skip
    texts = [f"{letter} sentence {number}" for number in range(40) for letter in "ab"]
    pq.write_table(
        pa.table({"premise": texts, "hypothesis": ["a"] * 80, "label": ["entailment", "neutral"] * 40,
                  "kind": ["pass_orig", "inv_orig"] * 40}),
        path / "nli_syntactic_augmentation.parquet",
    )  # fmt: skip
    return path


def judge(path: Path, scorer: Truthful) -> tuple[NaturalResult, ...]:
    return tuple(judge_natural(path, cast(Scorer, scorer), lambda line: None))


def test_only_the_test_part_of_each_set_is_judged(tmp_path: Path) -> None:
    scorer = Truthful()
    paraphrases, exchanged, passives = judge(folder(tmp_path), scorer)
    assert scorer.asked[:4] == [("a 1", "a one"), ("a one", "a 1"), ("a 2", "b two"), ("b two", "a 2")]
    assert not any(is_trained(premise) for premise, _ in scorer.asked[4:])
    assert (paraphrases.pairs, paraphrases.passed.count, paraphrases.flagged.count) == (2, 1, 1)
    assert paraphrases.auc == 1.0
    assert exchanged.flagged.count == exchanged.flagged.n == exchanged.pairs > 0
    assert passives.passed.count == passives.passed.n == passives.pairs > 0
    assert exchanged.auc is None
