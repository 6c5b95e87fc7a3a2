"""BERTScore (Zhang et al., ICLR 2020) by the package bert-score, without its rescaling."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from bert_score import BERTScorer

from benchmarks.paper.rivals.overlap import known_of

COLUMNS = ("bertscore_precision", "bertscore_recall", "bertscore_f1")


def scores(
    texts: Sequence[str | None],
    references: Sequence[Sequence[str | None] | None],
    model: Path,
    *,
    layer: int,
    idf: bool = False,
    device: str = "cpu",
) -> npt.NDArray[np.float64]:
    """Precision, recall and F1 of each text, the largest of any reference; float64, *Shape:* (rows, 3), NaN without a
    text or a reference.

    Args:
        model: folder of a checkpoint of transformers.
        layer: whose states are the embeddings, counted from 1.
        idf: weight tokens by inverse document frequency over the distinct references.
    """
    known = [known_of(one) for one in references]
    rows = [row for row in range(len(texts)) if texts[row] is not None and known[row]]
    distinct = list(dict.fromkeys(one for given in known for one in given))
    result = np.full((len(texts), len(COLUMNS)), np.nan)
    if rows:
        scorer = BERTScorer(
            model_type=str(model), num_layers=layer, idf=idf, idf_sents=distinct if idf else None, device=device
        )
        found = scorer.score([texts[row] for row in rows], [known[row] for row in rows])
        result[rows] = np.stack([one.numpy() for one in found], axis=1)
    return result
