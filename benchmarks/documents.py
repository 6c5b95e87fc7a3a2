"""How well documents work: SummEdits, WiCE and the stances of Factcheck-GPT, with a run's columns and string overlap.

    python -m benchmarks.documents prepare FIELD IN [K]   # text, document and gold of every K-th row of the data sets
    scorer run IN --bundle B --out OUT
    python -m benchmarks.documents table OUT

Prints for each set and each domain: rows, those that are supported, the balanced accuracy of the labels, and the area
under the ROC curve of ``confidence`` (the smallest over the sentences), of ``mean_entailment``, and of the overlap, the
share of the text's pairs of neighbouring words that the document has too (precision of ROUGE-2). In brackets: 95 %
intervals over documents.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.evaluation.bootstrap import Indices, drawn_interval
from scorer.evaluation.figures import Values, ratio
from scorer.evaluation.label_report import Ranking
from scorer.evaluation.ranking import ranking

SUPPORTED = {"supported", "completely-support"}


def prepare(field: Path, folder: Path, every: str = "1") -> None:
    """Write the three sets as inputs of a run, or every so many of their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    edits, claims, stances = (
        pq.read_table(field / f"{name}.parquet")
        for name in ("summedits_8_domains", "wice_claims", "factcheck_gpt_stance")
    )
    tables = {
        "summedits": (edits["summary"], edits["doc"], [label == 1 for label in edits["label"].to_pylist()]),
        "wice": (claims["claim"], claims["evidence"], [label in SUPPORTED for label in claims["label"].to_pylist()]),
        "factcheck_gpt": (
            stances["claim"],
            stances["evidence"],
            [stance in SUPPORTED for stance in stances["stance"].to_pylist()],
        ),
    }
    for name, (text, document, supported) in tables.items():
        domain = edits["domain"] if name == "summedits" else pa.array([name] * len(text))
        table = pa.table({"text": text, "document": document, "supported": supported, "domain": domain})
        pq.write_table(table.take(list(range(0, len(table), int(every)))), folder / f"{name}.parquet")


def overlap(text: str, document: str) -> float:
    """The share of the text's pairs of words that the document has; 1 for a text of one word."""
    said, known = (set(pairwise(re.findall(r"\w+", part.lower()))) for part in (text, document))
    return len(said & known) / len(said) if said else 1.0


def figures(rows: list[dict[str, Any]]) -> list[str]:
    """What the table says of some rows, errors left out."""
    rows = [row for row in rows if row["fine"] is not None]
    gold = np.array([row["supported"] for row in rows], bool)
    passed = np.array([row["fine"] == "OK" for row in rows], bool)
    documents = [row["document"] if isinstance(row["document"], str) else " ".join(row["document"]) for row in rows]
    overlaps = [overlap(row["text"], document) for row, document in zip(rows, documents, strict=True)]
    scores = [[row["confidence"] for row in rows], [row["mean_entailment"] for row in rows], overlaps]
    inputs = np.unique(documents, return_inverse=True)[1].reshape(-1)
    areas = [ranking(np.array(score, np.float64), ~gold, inputs) for score in scores]
    counts = [np.bincount(inputs, mask) for mask in (gold, gold & passed, ~gold, ~gold & ~passed)]

    def balanced(times: Indices) -> Values:
        supported, passing, others, flagged = (times @ count for count in counts)
        return 50 * (ratio(passing, supported) + ratio(flagged, others))

    value = float(balanced(np.ones((1, len(counts[0])), np.int64))[0])
    low, high = drawn_interval(balanced, len(counts[0])) or (np.nan, np.nan)
    return [f"{len(rows):,}", f"{gold.sum():,}", f"{value:.1f} [{low:.0f}, {high:.0f}]", *map(_area, areas)]


def _area(found: Ranking) -> str:
    low, high = found["interval"]["roc_auc"]
    return f"{found['roc_auc']:.3f} [{low:.2f}, {high:.2f}]"


def table(out: Path) -> None:
    """Print the figures of a finished run."""
    print("| set | rows | supported | balanced accuracy | AUC smallest | AUC mean | AUC overlap |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(out.glob("*.parquet")):
        rows = pq.read_table(path).to_pylist()
        print("|", " | ".join([path.stem, *figures(rows)]), "|")
        domains = sorted({row["domain"] for row in rows})
        for domain in domains if len(domains) > 1 else ():
            print("|", " | ".join([domain, *figures([row for row in rows if row["domain"] == domain])]), "|")


if __name__ == "__main__":
    command, first, *more = sys.argv[1:]
    if command == "prepare":
        prepare(Path(first), Path(more[0]), *more[1:])
    else:
        table(Path(first))
