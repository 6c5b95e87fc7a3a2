"""METEOR against the implementation that the field uses.

The expected values are of the E2E challenge's example: METEOR of NLTK 3.10 with Snowball's stemmer and without WordNet,
on the same tokens. The texts are in the evaluation data.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.evaluation.baselines.meteor import align, meteor
from scorer.evaluation.baselines.tokens import tokenise, words_of

METEOR = [0.742574257, 0.734678131, 0.934744268, 0.867552335, 0.555555556, 0.887234479, 0.967156863, 0.864285714,
          0.87273124, 0.939144889]  # fmt: skip


@pytest.fixture(scope="module")
def example(shared_data: Path) -> pa.Table:
    folder = shared_data.parent / "e2e-metrics"
    blocks = (folder / "devel-conc.txt").read_text(encoding="utf-8").strip().split("\n\n")
    texts = (folder / "baseline-output.txt").read_text(encoding="utf-8").splitlines()
    return pa.table({"triples": [["a | b | c"]] * 10, "text": texts, "references": [b.split("\n") for b in blocks]})


def test_the_official_example(example: pa.Table, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    pq.write_table(example, tmp_path / "in.parquet")
    given = ["baseline", "overlap", str(tmp_path / "in.parquet"), "--out", str(tmp_path / "out.parquet")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["meteor_exact_stem"].to_pylist() == pytest.approx(METEOR, rel=1e-6)


def test_tokens() -> None:
    assert tokenise('A "pub", £20-25; it isn\'t 3.5/5.') == [
        *("a", '"', "pub", '"', ",", "£20", "-", "25", ";", "it", "isn't", "3.5", "/", "5", "."),
    ]
    assert words_of(tokenise("It isn't Aromi's.")) == ["it", "is", "n't", "aromi", "'s"]


def test_meteor_by_hand() -> None:
    def stem(word: str) -> str:
        return word.removesuffix("s")

    text, reference = ["the", "cats", "sat", "on", "the", "mat"], ["on", "the", "mat", "sat", "the", "cat"]
    assert align(text, reference, stem) == [(0, 1), (1, 5), (2, 3), (3, 0), (4, 4), (5, 2)]
    assert meteor(text, [reference], stem) == pytest.approx(1 - 0.5)  # six pairs in six chunks
    assert meteor(["a", "b", "c", "d"], [["a", "b", "c", "d"], ["x"]], stem) == pytest.approx(1 - 0.5 * (1 / 4) ** 3)
    assert meteor(["y"], [["x"]], stem) == 0.0
