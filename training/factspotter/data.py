"""Triples and texts of a Parquet file, as the classifier reads them, in a part to train on and a part held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import ScorerError
from scorer.metric import ColumnNames, factspotter
from scorer.metric.facts import Triple
from scorer.metric.inputs import find_columns


class DataError(Exception):
    """A file that the recipe cannot be trained on; says why."""


@dataclass(frozen=True)
class DataText:
    """One text and all triples that it says, as the classifier reads them. ``domain``: rows with equal values share
    their predicates."""

    triples: tuple[Triple, ...]
    text: str
    domain: str


@dataclass(frozen=True)
class Known:
    """Predicates and entities for negatives, each list sorted. ``predicates``: of each domain."""

    predicates: dict[str, tuple[str, ...]]
    all_predicates: tuple[str, ...]
    entities: tuple[str, ...]


def read(path: Path) -> list[DataText]:
    """The rows of a Parquet file that have triples and a text. Their domain is the column ``category``, if it is there.

    Raises:
        DataError: not a Parquet file, without the columns ``triples`` and ``text``, or without a usable row.
    """
    try:
        table = pq.read_table(path, use_threads=False)
        columns = find_columns(table.schema, ColumnNames(keep=()))
        rows = columns.rows(table)
    except (pa.ArrowException, OSError, ScorerError) as e:
        raise DataError(f"{path} cannot be trained on ({str(e).splitlines()[0][:200]}); give triples and text") from e
    if rows.triples.sentences:
        raise DataError(f"{path} has facts as sentences, and FactSpotter takes triples; give a column of triples")
    domains = table["category"].to_pylist() if "category" in table.schema.names else [""] * len(table)
    plain = [factspotter.plain_parts(triple) for triple in rows.triples.distinct]
    ids, offsets = rows.triples.ids.tolist(), rows.triples.offsets.tolist()
    found = []
    for r in range(len(rows)):
        text = factspotter.plain_text(rows.texts[rows.text_codes[r]] or "")
        if r not in rows.errors and text:
            triples = tuple(plain[i] for i in dict.fromkeys(ids[offsets[r] : offsets[r + 1]]))
            found.append(DataText(triples, text, str(domains[r])))
    if not found:
        raise DataError(f"{path} has no row with triples and a text; check its columns")
    return found


def split(rows: Iterable[DataText], share: float, seed: int) -> tuple[list[DataText], list[DataText]]:
    """Rows to train on and rows held out, about ``share`` of them. Rows with the same triples stay together."""
    train: list[DataText] = []
    held_out: list[DataText] = []
    for row in rows:
        key = repr((seed, sorted(row.triples))).encode()
        drawn = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2**64
        (held_out if drawn < share else train).append(row)
    if not train or not held_out:
        raise DataError(f"of {len(train) + len(held_out)} rows, none is left to train on or to hold out; give more")
    return train, held_out


def known(rows: Sequence[DataText]) -> Known:
    """The predicates and entities of rows; a DataError unless there are two of each."""
    predicates: dict[str, set[str]] = {}
    entities: set[str] = set()
    for row in rows:
        for triple in row.triples:
            predicates.setdefault(row.domain, set()).add(triple.predicate)
            entities |= {triple.subject, triple.object}
    every = sorted(set().union(*predicates.values()))
    if len(every) < 2 or len(entities) < 2:
        raise DataError(f"{len(rows)} rows have {len(every)} predicates and {len(entities)} entities; give more rows")
    return Known(
        {domain: tuple(sorted(found)) for domain, found in predicates.items()}, tuple(every), tuple(sorted(entities))
    )
