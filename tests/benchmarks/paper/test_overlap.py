"""NIST, ROUGE-L, CIDEr, METEOR and BERTScore against the implementations that the field uses, or a plain loop.

The expected values are of the E2E challenge's example: BLEU and NIST of its script (``-p``), ROUGE-L and CIDEr of
pycocoevalcap 1.2 with its tokenizer (Java), METEOR of NLTK 3.10 with Snowball's stemmer and without WordNet, on the
same tokens. The texts are in the evaluation data.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sacrebleu

pytest.importorskip("nltk", reason="pip install -r benchmarks/paper/requirements.txt")
pytest.importorskip("bert_score", reason="pip install -r benchmarks/paper/requirements.txt")

import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.paper.rivals.overlap import COLUMNS, Overlap, bertscores
from tests.export.checkpoints import make_checkpoint

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


def test_the_official_example(example: pa.Table) -> None:
    doubled = pa.concat_tables([example, example.slice(0, 2)])  # another system's texts of an input count once
    texts, references = doubled["text"].to_pylist(), doubled["references"].to_pylist()
    scorer = Overlap(references)
    ten = texts[:10], references[:10]
    assert scorer.corpus(*ten) == pytest.approx((0.7202928494322162, 7.788887609555574), rel=1e-12)
    found = dict(zip(COLUMNS, scorer.scores(*ten).T.tolist(), strict=True))
    assert found["rouge_l"] == pytest.approx(ROUGE_L, rel=1e-6)
    assert found["cider"] == pytest.approx(CIDER, rel=1e-6)
    assert found["meteor_exact_stem"] == pytest.approx(METEOR, rel=1e-6)


def test_scores_of_sacrebleu_and_rows_without_a_score() -> None:
    text, known = "the cat sat on a mat", ["the cat sat on the mat", "a cat is on the mat"]
    references = [known, known, known, None, ["", None]]
    found = Overlap(references).scores([text, "", None, text, text], references)
    assert found[0, 0] == pytest.approx(sacrebleu.sentence_bleu(text, known).score)
    assert found[0, 1] == pytest.approx(sacrebleu.sentence_chrf(text, known).score)
    assert found[0, 2] == pytest.approx(100 / 6), "one word of six to change"
    assert found[1].tolist() == [0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0]
    assert np.isnan(found[2:]).all()


TEXTS = ["The Mill serves food.", None, "Blue Spice is a pub.", "The Mill"]
REFERENCES = [["Alan Bean", "The Mill serves cheap food."], ["x"], ["Blue Spice is a pub."], None]


@pytest.mark.filterwarnings("ignore")  # of the package and what it imports
def test_bertscores_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "bert", "bert")
    AutoTokenizer.from_pretrained(folder, model_max_length=100).save_pretrained(folder)
    found = bertscores(TEXTS, REFERENCES, folder, layer=1)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, num_hidden_layers=1).eval()

    def states(text: str) -> np.ndarray:
        with torch.inference_mode():
            own = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        return torch.nn.functional.normalize(own, dim=-1).numpy()

    def by_hand(text: str, reference: str) -> tuple[float, float, float]:
        cosines = states(text) @ states(reference).T
        p, r = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
        return p, r, 2 * p * r / (p + r)

    expected = np.max([by_hand(TEXTS[0] or "", reference) for reference in REFERENCES[0] or ()], axis=0)
    assert found[0].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert found[2].tolist() == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.isnan(found[[1, 3]]).all()
