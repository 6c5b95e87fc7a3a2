"""What NIST and CIDEr need to know of all references, before a single text is scored."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ...errors import ColumnError, ScorerError
from ...metric.triples import decode
from ...storage import ShardReader, resolve_inputs
from .cider import ORDER, Frequencies
from .nist import NIST_ORDER, Information
from .tokens import Ngram, ngrams, tokenise, words_of

_WINDOW_ROWS, _WINDOW_BYTES = 16384, 32 << 20


@dataclass(frozen=True)
class ReferenceCounts:
    """Counts over the distinct lists of references, in any order: the rows of one input share a list.

    ``digest``: SHA-256 of the lists, as hex; scores compare only where it is the same.
    """

    information: Information
    frequencies: Frequencies
    digest: str


def count_references(inputs: Sequence[str], column: str) -> ReferenceCounts:
    """Read the references of all inputs. Inputs that cannot be read or have no such column are left out: the run
    quarantines them.

    Raises:
        InputError: there are no inputs.
    """
    counts: Counter[Ngram] = Counter()
    frequencies: Counter[Ngram] = Counter()
    tokens, distinct = 0, DistinctLists(inputs, column)
    for references in distinct:
        of_input: set[Ngram] = set()
        for reference in references:
            found = tokenise(reference)
            tokens += len(found)
            for n in range(1, NIST_ORDER + 1):
                counts.update(ngrams(found, n))
            for n in range(1, ORDER + 1):
                of_input.update(ngrams(words_of(found), n))
        frequencies.update(of_input)
    return ReferenceCounts(Information(counts, tokens), Frequencies(len(distinct.seen), frequencies), distinct.digest())


class DistinctLists:
    """The distinct lists of references of all inputs, to be iterated over once. ``seen``: digests of those so far."""

    def __init__(self, inputs: Sequence[str], column: str) -> None:
        self._inputs, self._column = inputs, column
        self.seen: set[bytes] = set()

    def __iter__(self) -> Iterator[list[str]]:
        for references in _lists(self._inputs, self._column):
            key = _digest(references)
            if key not in self.seen:
                self.seen.add(key)
                yield references

    def digest(self) -> str:
        """SHA-256 of the lists, in any order, as hex."""
        return hashlib.sha256(b"".join(sorted(self.seen))).hexdigest()


def _lists(inputs: Sequence[str], column: str) -> Iterable[list[str]]:
    with ShardReader() as reader:
        for file in resolve_inputs(list(inputs)):
            try:
                if column not in reader.probe(file.uri).schema.names:
                    continue
                windows = reader.windows(file.uri, max_rows=_WINDOW_ROWS, max_bytes=_WINDOW_BYTES, columns=[column])
                for table in windows:
                    yield from (known for found in reference_lists(table[column]) if (known := known_of(found)))
            except (ScorerError, pa.ArrowException):
                continue


def references_of(table: pa.Table, column: str) -> list[list[str] | None]:
    """The references of each row of a table.

    Raises:
        ColumnError: there is no such column, or it holds no lists of strings.
    """
    if column not in table.schema.names:
        raise ColumnError(f"no column {column!r}; this baseline needs texts, and a list of references for each row")
    kind = table.schema.field(column).type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not lists or not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
        raise ColumnError(f"column {column!r} is {kind}, but references are list<string>")
    return reference_lists(table[column])


def reference_lists(column: pa.ChunkedArray) -> list[list[str] | None]:
    """The references of each row, without those that are not UTF-8: Parquet strings are not checked on reading."""
    found: list[list[str] | None] = []
    for references in column.cast(pa.large_list(pa.large_binary())).to_pylist():
        decoded = [decode(reference) for reference in references or () if reference is not None]
        found.append(None if references is None else [text for text in decoded if text is not None])
    return found


def known_of(references: Sequence[str] | None) -> list[str]:
    """The references that say something."""
    return [reference for reference in references or () if reference.strip()]


def _digest(references: Sequence[str]) -> bytes:
    parts = b"".join(len(raw).to_bytes(4, "little") + raw for raw in (text.encode() for text in references))
    return hashlib.sha256(parts).digest()
