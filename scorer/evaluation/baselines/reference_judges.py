"""The metrics that compare a text with references, as baselines: n-grams, and embeddings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import ColumnError
from ...inference.encoder import EncoderBundle
from ...metric.rows import Rows
from ...scoring.signature import encode
from . import bertscore, overlap
from .bertscore import BertScore
from .judges import is_scored, nothing_said, output_columns
from .reference_counts import ReferenceCounts, known_of, references_of


class OverlapJudge:
    """Scores against references, without labels. Output columns of a run in the input are kept, so that both kinds of
    scores can be in one file.

    Args:
        text, references: the columns.
        counts: of all references, see :func:`.reference_counts.count_references`.
    """

    name = "overlap"
    keeps_labels = True
    needs_triples = False

    def __init__(self, text: str, references: str, counts: ReferenceCounts) -> None:
        self.text, self.references = text, references
        self.metric = overlap.Overlap(counts)
        self.depends_on = f"|references:{counts.digest[:12]}"
        self.settings: Mapping[str, object] = {"references": references, "digest": counts.digest}

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        _check_text(self.text, table)
        texts = [rows.text_of(r) for r in range(len(rows))]
        found = self.metric.scores(texts, references_of(table, self.references))
        return _with_labels(rows, table, overlap.COLUMNS, found)


class BertScoreJudge:
    """BERTScore against references, without labels; see :class:`OverlapJudge`."""

    name = "bertscore"
    keeps_labels = True
    needs_triples = False

    def __init__(self, text: str, references: str, metric: BertScore) -> None:
        self.text, self.references, self.metric = text, references, metric
        self.depends_on = encoder_part(metric.encoder.bundle) + (
            f"|idf:{metric.idf.digest[:12]}" if metric.idf is not None else "|idf:no"
        )
        self.settings: Mapping[str, object] = {
            "references": references,
            "encoder": metric.encoder.bundle.sha256,
            "idf": metric.idf.digest if metric.idf is not None else None,
        }

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        _check_text(self.text, table)
        texts = [rows.text_of(r) for r in range(len(rows))]
        references = [known_of(given) for given in references_of(table, self.references)]
        return _with_labels(rows, table, bertscore.COLUMNS, self.metric.scores(texts, references))


def encoder_part(bundle: EncoderBundle) -> str:
    """What a signature says of an encoder."""
    return f"|encoder:{encode(bundle.name)}@{bundle.sha256[:12]}|layer:{bundle.layer}"


def _check_text(name: str, table: pa.Table) -> None:
    if name not in table.schema.names:
        raise ColumnError(f"no column {name!r}; this baseline needs texts, and a list of references for each row")


def _with_labels(
    rows: Rows, table: pa.Table, names: tuple[str, ...], scores: npt.NDArray[np.float64]
) -> list[tuple[str, pa.Array]]:
    """The columns of scores, *Shape:* (rows, names); before them empty output columns where the table has none."""
    extra = [
        (name, pa.array(scores[:, c].astype(np.float32), mask=np.isnan(scores[:, c]))) for c, name in enumerate(names)
    ]
    return extra if is_scored(table.schema) else [*output_columns(rows, nothing_said(rows)), *extra]
