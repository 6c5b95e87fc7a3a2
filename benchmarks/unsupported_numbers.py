"""How well ``unsupported_numbers`` finds the wrong numbers of texts with marked error spans: precision and recall.

    scorer convert quintd quintd_public.parquet --out ROWS --spans SPANS    # or d2t-eval; --judge-spans: of models
    python -m benchmarks.unsupported_numbers ROWS SPANS
    python -m benchmarks.unsupported_numbers challenge

A quantity of a text is flagged if the column has it. It is wrong if it overlaps a span that contradicts the facts
(*Incorrect*, *Contradictory*), and without support if it overlaps one of these or of *Not checkable*. Prints for each
domain, annotator and meaning: quantities, those flagged, precision, recall, and the share that is wrong or without
support.

With ``challenge``, prints for each kind of the challenge set how many of its right and of its changed texts are named.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow.parquet as pq

from scorer.evaluation.challenge.build import build_cases
from scorer.metric.numbers.quantities import Number, quantities
from scorer.metric.numbers.support import known_of, of_fact, unsupported
from scorer.metric.triples import Triple

WRONG = {"Incorrect", "Contradictory"}
MEANINGS = {"wrong": WRONG, "without support": WRONG | {"Not checkable"}}


def challenge() -> None:
    """Print the texts named, by kind of the challenge set."""
    counts: dict[str, Counter[str]] = {}
    for one in build_cases():
        known = known_of(one.triples, (found for triple in one.triples for found in of_fact(triple)))
        right, changed = (bool(unsupported(text, known)) for text in (one.base, one.edited))
        counts.setdefault(f"{one.kind} ({one.expected})", Counter()).update(pairs=1, right=right, changed=changed)
    for kind, counted in counts.items():
        print(kind, *(f"{name} {counted[name]}" for name in ("pairs", "right", "changed")))


def main(rows: str, spans: str) -> None:
    """Print the figures of the rows and spans that ``scorer convert`` wrote."""
    marked: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for span in pq.read_table(spans).to_pylist():
        marked.setdefault(span["text_id"], {}).setdefault(span["annotator"], []).append(span)
    found: dict[tuple[str, str, str], Counter[tuple[bool, bool]]] = {}
    for row in pq.read_table(rows).to_pylist():
        flagged_at = _flagged(row)
        for annotator, placed in marked.get(row["text_id"], {}).items():
            for meaning, categories in MEANINGS.items():
                # A row without a place stands for a text in which nothing is marked; its category is null.
                counted = _count(flagged_at, [span for span in placed if span["category"] in categories])
                for domain in (row["domain"], "all"):
                    found.setdefault((domain, annotator, meaning), Counter()).update(counted)
    for (domain, annotator, meaning), counts in sorted(found.items()):
        both, flagged = counts[True, True], counts[True, True] + counts[True, False]
        wrong, all_of_them = both + counts[False, True], counts.total()
        shares = [part / max(whole, 1) for part, whole in ((both, flagged), (both, wrong), (wrong, all_of_them))]
        print(domain, annotator, meaning, all_of_them, flagged, *(f"{share:.3f}" for share in shares))


def _flagged(row: dict[str, Any]) -> list[tuple[int, int, bool]]:
    """The quantities of a row's text: start, end, and whether the column has it."""
    text = row["text"]
    triples = [Triple(t["subject"], t["predicate"], t["object"]) for t in row["triples"]]
    named = set(unsupported(text, known_of(triples, (one for triple in triples for one in of_fact(triple)))))
    return [
        (one.start, one.end, text[one.start : one.end] in named)
        for one in quantities(text)
        if not (isinstance(one, Number) and one.part)
    ]


def _count(found: list[tuple[int, int, bool]], spans: Iterable[dict[str, Any]]) -> Counter[tuple[bool, bool]]:
    """Quantities by (flagged, in a span)."""
    return Counter(
        (flagged, any(span["char_start"] < end and start < span["char_end"] for span in spans))
        for start, end, flagged in found
    )


if __name__ == "__main__":
    challenge() if sys.argv[1] == "challenge" else main(*sys.argv[1:])
