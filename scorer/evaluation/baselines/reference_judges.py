"""The metrics that compare a text with references, as baselines: n-grams, and embeddings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ...errors import ColumnError
from ...inference.encoder import EncoderBundle
from ...metric.rows import Rows
from ...scoring.signature import encode
from . import bertscore, overlap
from .bertscore import BertScore
from .judges import is_scored, nothing_said, output_columns
from .overlap import Overlap
from .reference_counts import ReferenceCounts, references_of


class _ReferenceJudge:
    """Scores against references, without labels. Output columns of a run in the input are kept, so that both kinds of
    scores can be in one file; without them, they are empty.

    ``text``, ``references``: the columns. ``scores``: the names of its own.
    """

    keeps_labels = True
    needs_triples = False
    scores: tuple[str, ...]
    metric: Overlap | BertScore

    def __init__(self, text: str, references: str, metric: Overlap | BertScore) -> None:
        self.text, self.references, self.metric = text, references, metric

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        if self.text not in table.schema.names:
            raise ColumnError(
                f"no column {self.text!r}; this baseline needs texts, and a list of references for each row"
            )
        texts = [rows.text_of(r) for r in range(len(rows))]
        found = self.metric.scores(texts, references_of(table, self.references))
        own = [
            (name, pa.array(found[:, c].astype(np.float32), mask=np.isnan(found[:, c])))
            for c, name in enumerate(self.scores)
        ]
        return own if is_scored(table.schema) else [*output_columns(rows, nothing_said(rows)), *own]


class OverlapJudge(_ReferenceJudge):
    """Overlap of n-grams. ``counts``: of all references, see :func:`.reference_counts.count_references`."""

    name = "overlap"
    scores = overlap.COLUMNS
    metric: Overlap

    def __init__(self, text: str, references: str, counts: ReferenceCounts) -> None:
        super().__init__(text, references, overlap.Overlap(counts))
        self.depends_on = f"|references:{counts.digest[:12]}"
        self.settings: Mapping[str, object] = {"references": references, "digest": counts.digest}


class BertScoreJudge(_ReferenceJudge):
    """BERTScore."""

    name = "bertscore"
    scores = bertscore.COLUMNS

    def __init__(self, text: str, references: str, metric: BertScore) -> None:
        super().__init__(text, references, metric)
        idf = metric.idf.digest if metric.idf is not None else None
        self.depends_on = f"{encoder_part(metric.encoder.bundle)}|idf:{'no' if idf is None else idf[:12]}"
        self.settings: Mapping[str, object] = {
            "references": references,
            "encoder": metric.encoder.bundle.sha256,
            "idf": idf,
        }


def encoder_part(bundle: EncoderBundle) -> str:
    """What a signature says of an encoder."""
    return f"|encoder:{encode(bundle.name)}@{bundle.sha256[:12]}|layer:{bundle.layer}"
