"""NIST, ROUGE-L, CIDEr and METEOR against the implementations that the field uses.

The expected values are of the E2E challenge's example: BLEU and NIST of its script (``-p``), ROUGE-L and CIDEr of
pycocoevalcap 1.2 with its tokenizer (Java), METEOR of NLTK 3.10 with Snowball's stemmer and without WordNet, on the
same tokens. The texts are in the evaluation data.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.evaluation.baselines.meteor import align, meteor
from scorer.evaluation.baselines.nist import Totals
from scorer.evaluation.baselines.overlap import longest_common, rouge_l
from scorer.evaluation.baselines.tokens import tokenise, words_of
from tests.run.calls import scorer

ROUGE_L = [0.756254151, 0.735826297, 0.951267057, 0.910447761, 0.462998102, 0.886393659, 0.788793103, 0.914771307,
           0.732086128, 0.770688566]  # fmt: skip
CIDER = [2.217571021, 1.655177281, 2.911942435, 4.676570721, 0.214143604, 1.832638444, 1.509065008, 1.912145956,
         2.69251961, 3.417657272]  # fmt: skip
METEOR = [0.742574257, 0.734678131, 0.934744268, 0.867552335, 0.555555556, 0.887234479, 0.967156863, 0.864285714,
          0.87273124, 0.939144889]  # fmt: skip


@pytest.fixture(scope="module")
def example(shared_data: Path) -> pa.Table:
    folder = shared_data.parent / "e2e-metrics"
    blocks = (folder / "devel-conc.txt").read_text(encoding="utf-8").strip().split("\n\n")
    texts = (folder / "baseline-output.txt").read_text(encoding="utf-8").splitlines()
    return pa.table({"triples": [["a | b | c"]] * 10, "text": texts, "references": [b.split("\n") for b in blocks]})


def test_the_official_example(example: pa.Table, tmp_path: Path) -> None:
    pq.write_table(example, tmp_path / "in.parquet")
    done = scorer("baseline", "overlap", tmp_path / "in.parquet", "--out", tmp_path / "out.parquet")
    assert "BLEU 0.7202928494322162, NIST 7.788887609555574" in done.stderr
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["rouge_l"].to_pylist() == pytest.approx(ROUGE_L, rel=1e-6)
    assert found["cider"].to_pylist() == pytest.approx(CIDER, rel=1e-6)
    assert found["meteor_exact_stem"].to_pylist() == pytest.approx(METEOR, rel=1e-6)


def test_shards_are_scored_with_the_references_of_all(example: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    doubled = pa.concat_tables([example.slice(0, 4), example.slice(0, 2)])  # another system's texts of an input
    for name, part in (("a", doubled), ("b", example.slice(4))):
        pq.write_table(part, tmp_path / "in" / f"{name}.parquet")
    given = ("baseline", "overlap", tmp_path / "in", "--out", tmp_path / "out")
    scorer(*given)
    shards = [pq.read_table(tmp_path / "out" / f"{name}.parquet") for name in ("a", "b")]
    found = pa.concat_tables([shards[0].slice(0, 4), shards[1]])
    assert found["cider"].to_pylist() == pytest.approx(CIDER, rel=1e-6)
    signature = shards[0].schema.metadata[b"d2t_scorer.signature"].decode()
    assert signature.startswith("baseline:overlap|metric:1|references:")
    pq.write_table(example.slice(0, 1), tmp_path / "in" / "c.parquet")
    assert "3 done (2 in earlier runs)" in scorer(*given).output, "the same references: other shards stay as they are"
    changed = example.slice(0, 1).set_column(2, "references", pa.array([["Something else."]]))
    pq.write_table(changed, tmp_path / "in" / "c.parquet")
    assert "--rescore" in scorer(*given, code=2).output, "other references are another signature"


def test_tokens() -> None:
    assert tokenise('A "pub", £20-25; it isn\'t 3.5/5.') == [
        *("a", '"', "pub", '"', ",", "£20", "-", "25", ";", "it", "isn't", "3.5", "/", "5", ".")
    ]
    assert words_of(tokenise("It isn't Aromi's.")) == ["it", "is", "n't", "aromi", "'s"]


def test_rouge_by_hand() -> None:
    assert longest_common("abcbdab", "bdcaba") == 4  # Cormen et al., Introduction to Algorithms, section 15.4
    # Lin (2004), section 3: S1 is the reference; LCS of 3 of 4 words, and of 2 of 4.
    reference = ["police", "killed", "the", "gunman"]
    assert rouge_l(["police", "kill", "the", "gunman"], [reference]) == pytest.approx(3 / 4)
    assert rouge_l(["the", "gunman", "kill", "police"], [reference]) == pytest.approx(2 / 4)
    assert rouge_l([], [reference]) == rouge_l(["x"], [reference]) == 0.0


def test_meteor_by_hand() -> None:
    def stem(word: str) -> str:
        return word.removesuffix("s")

    text, reference = ["the", "cats", "sat", "on", "the", "mat"], ["on", "the", "mat", "sat", "the", "cat"]
    assert align(text, reference, stem) == [(0, 1), (1, 5), (2, 3), (3, 0), (4, 4), (5, 2)]
    assert meteor(text, [reference], stem) == pytest.approx(1 - 0.5)  # six pairs in six chunks
    assert meteor(["a", "b", "c", "d"], [["a", "b", "c", "d"], ["x"]], stem) == pytest.approx(1 - 0.5 * (1 / 4) ** 3)
    assert meteor(["y"], [["x"]], stem) == 0.0


def test_a_corpus_without_a_match_has_no_score() -> None:
    assert (Totals().bleu, Totals().nist) == (0.0, 0.0)
