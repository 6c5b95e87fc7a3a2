"""BERTScore as a column: precision, recall and F1 by a plain loop over a tiny checkpoint's states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("bert_score", reason="pip install -r benchmarks/paper/requirements.txt")

import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.paper.rivals.overlap import bertscores
from tests.export.checkpoints import make_checkpoint

pytestmark = pytest.mark.filterwarnings("ignore")  # of the package and what it imports
TEXTS = ["The Mill serves food.", None, "Blue Spice is a pub.", "The Mill"]
REFERENCES = [["Alan Bean", "The Mill serves cheap food."], ["x"], ["Blue Spice is a pub."], None]


def test_columns_are_those_of_a_plain_loop(tmp_path: Path) -> None:
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
    weighted = bertscores(TEXTS, REFERENCES, folder, layer=1, idf=True)
    assert weighted[0].tolist() != pytest.approx(found[0].tolist(), abs=1e-6)
