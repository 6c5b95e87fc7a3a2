"""How well ``unsupported_numbers`` finds the wrong numbers of Quintd-1: precision and recall against marked spans.

    python benchmarks/unsupported_numbers.py quintd_public.parquet

A quantity of a text is wrong if it overlaps a span that annotators marked as *Incorrect*, and flagged if the column has
it. Prints for each domain and annotator: quantities, those flagged, precision, recall, and the share that is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pyarrow.parquet as pq

from scorer.metric.numbers.quantities import Number, quantities
from scorer.metric.numbers.support import of_fact, unsupported
from scorer.metric.triples import Triple

ANNOTATORS = ("human_spans", "gpt4_spans")


def main(path: str) -> None:
    found: dict[tuple[str, str], Counter[tuple[bool, bool]]] = {}
    for row in pq.read_table(path).to_pylist():
        for annotator in ANNOTATORS:
            counted = _count(row, annotator)
            for domain in (row["domain"], "all"):
                found.setdefault((domain, annotator), Counter()).update(counted)
    for (domain, annotator), counts in sorted(found.items()):
        both, flagged = counts[True, True], counts[True, True] + counts[True, False]
        wrong, all_of_them = both + counts[False, True], counts.total()
        shares = [part / max(whole, 1) for part, whole in ((both, flagged), (both, wrong), (wrong, all_of_them))]
        print(domain, annotator, all_of_them, flagged, *(f"{share:.3f}" for share in shares))


def _count(row: dict[str, Any], annotator: str) -> Counter[tuple[bool, bool]]:
    """Quantities of a row's text by (flagged, wrong)."""
    text = row["text"]
    facts = [one for t in row["triples"] for one in of_fact(Triple(t["subject"], t["predicate"], t["object"]))]
    named = set(unsupported(text, facts))
    spans = [(span["start"], span["end"]) for span in row[annotator] if span["type"] == "Incorrect"]
    return Counter(
        (text[one.start : one.end] in named, any(start < one.end and one.start < end for start, end in spans))
        for one in quantities(text)
        if not (isinstance(one, Number) and one.part)
    )


if __name__ == "__main__":
    main(sys.argv[1])
