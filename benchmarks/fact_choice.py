"""What does it cost to choose facts per sentence? The same rows with all their facts, and with fewer and fewer.

    python -m benchmarks.fact_choice FILE --bundle BUNDLE [--spans SPANS] [--lengths 384,256,192,128] [--out FILE]

FILE has long inputs and texts, as ``scorer convert quintd`` writes it. Rows whose facts all fit the model are scored
sentence by sentence with all of them; then again by the same model with less room for a pair, so that for each sentence
facts must be chosen. The difference is the cost of the choice where both can be measured; inputs that never fit may
differ. SPANS are marked errors, as ``scorer evaluate --spans`` reads them, against which both are held.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scorer import Scorer
from scorer.evaluation.bootstrap import RESAMPLES, SEED
from scorer.evaluation.span_files import Spans
from scorer.evaluation.span_gold import read_annotators
from scorer.evaluation.spans import overlaps
from scorer.inference.engine import Engine

THRESHOLD = 0.5


def opened(bundle: str) -> Scorer:
    """A scorer of facts → text by sentence."""
    return Scorer(bundle, checks="hallucination", sentences=True)


def scored(table: pa.Table, bundle: str, tokens: int, overhead: int) -> pa.Table:
    """The table with its labels, with so many tokens for a pair.

    The engine is told of less room than its model has; a bundle of shorter pairs would not pass its own probes.
    """
    with patch.object(Engine, "room", property(lambda engine: tokens - overhead)):
        return opened(bundle).score_table(table)


def chosen(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Rows of which facts were chosen for a sentence; *Shape:* (rows,)."""
    said = pc.match_substring(pc.fill_null(table["note"], ""), "facts_selected")
    return np.array(said.to_pylist(), bool)


def sentences(table: pa.Table) -> list[tuple[str, int, int, float | None]]:
    """Text, start, end and P(entailment) of each sentence; None where it does not fit."""
    return [
        (text_id, one["start"], one["end"], one["entailment"])
        for text_id, found in zip(table["text_id"].to_pylist(), table["sentences"].to_pylist(), strict=True)
        for one in found or ()
    ]


def marked(found: list[tuple[str, int, int, float | None]], table: pa.Table, spans: Path) -> npt.NDArray[np.bool_]:
    """Whether an error of the main annotator lies in a sentence, or partly; *Shape:* (sentences,)."""
    texts = dict(zip(table["text_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    errors = read_annotators(spans, texts, "text_id").main.errors
    starts, ends = (np.array([one[k] for one in found], np.int64) for k in (1, 2))
    return overlaps(Spans([one[0] for one in found], starts, ends), errors) > 0


def f1(flagged: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """Precision, recall and F1 of flagged sentences."""
    hits = float((flagged & wrong).sum())
    precision, recall = hits / max(flagged.sum(), 1), hits / max(wrong.sum(), 1)
    return precision, recall, 2 * hits / max(flagged.sum() + wrong.sum(), 1)


def interval(
    owner: npt.NDArray[Any], flagged: npt.NDArray[np.bool_], base: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    """95 % interval, over texts, of the difference in F1 to all facts."""
    rng, (_, number) = np.random.default_rng(SEED), np.unique(owner, return_inverse=True)
    places = [np.flatnonzero(number == i) for i in range(number.max() + 1)]
    drawn = []
    for _ in range(RESAMPLES):
        at = np.concatenate([places[i] for i in rng.integers(0, len(places), len(places))])
        drawn.append(f1(flagged[at], wrong[at])[2] - f1(base[at], wrong[at])[2])
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fact_choice", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bundle", default="embedded")
    parser.add_argument("--spans", type=Path, default=None)
    parser.add_argument("--lengths", default="384,256,192,128")
    parser.add_argument("--out", type=Path, default=None, help="write the figures as JSON")
    options = parser.parse_args()
    table = pq.read_table(options.file)
    lines: list[dict[str, Any]] = []
    scorer = opened(options.bundle)
    most, overhead = scorer.engine.bundle.max_length, scorer.engine.bundle.layout.overhead
    whole = scorer.score_table(table)
    fits = ~chosen(whole) & np.array(pc.is_null(whole["error"]).to_pylist(), bool)
    table = table.filter(pa.array(fits))
    print(f"{len(table):,} of {len(whole):,} rows have facts that all fit {most} tokens")
    all_facts = sentences(whole.filter(pa.array(fits)))
    owner = np.array([text for text, *_ in all_facts])
    base = np.array([p for *_, p in all_facts]) < THRESHOLD
    wrong = marked(all_facts, table, options.spans) if options.spans is not None else None
    for tokens in (most, *map(int, options.lengths.split(","))):
        if tokens == most:
            found = whole.filter(pa.array(fits))
        else:
            found = scored(table, options.bundle, tokens, overhead)
        now = {one[:3]: one[3] for one in sentences(found) if one[3] is not None}
        both = np.array([one[:3] in now for one in all_facts], bool)
        flagged = np.array([now.get(one[:3], 0.0) for one in all_facts]) < THRESHOLD
        line: dict[str, Any] = {
            "tokens": tokens,
            "rows_chosen": int(chosen(found).sum()),
            "sentences": int(both.sum()),
            "flagged": int(flagged[both].sum()),
            "same": float((flagged == base)[both].mean()),
        }
        if wrong is not None:
            line["precision"], line["recall"], line["f1"] = f1(flagged[both], wrong[both])
            line["difference"] = interval(owner[both], flagged[both], base[both], wrong[both])
        lines.append(line)
        print(json.dumps(line))
    if options.out is not None:
        told = {"file": options.file.name, "bundle": options.bundle, "rows": len(table), "lines": lines}
        options.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
