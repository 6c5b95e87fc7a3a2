"""Collect the rows of a conversion by column, and build an Arrow table from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ..metric.facts import Triple

TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))
OWN = ("mr", "triples", "text", "system", "file", "line", "references", "original_triples")

# Numbers whose text is unchanged after conversion: 007 is a code, and 20 digits are an identifier that a float rounds.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(slots=True)
class Text:
    """A text in the file of its input, and its line number. ``None``: the text cannot be read."""

    line: int
    text: str | None
    system: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Input:
    """An input of a file: as written, as triples (``None``: cannot be read), and its texts in the same file."""

    file: str
    line: int
    mr: str | None
    triples: Sequence[Triple] | None
    texts: Sequence[Text] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    original: Sequence[Triple] | None = None

    @property
    def key(self) -> object:
        """A value that is equal for two spellings of the same input."""
        return tuple(sorted(self.triples)) if self.triples else self.mr

    def references(self, without: Text | None = None) -> list[str]:
        """The readable texts of this input, except ``without``."""
        return [text.text for text in self.texts if text is not without and text.text]


class Rows:
    """A growing table. Equal lists of triples are stored once, since systems share their inputs.

    ``inputs`` and ``unreferenced`` are counts for the summary, maintained by the code that adds rows.
    """

    def __init__(self) -> None:
        self.inputs = 0
        self.unreferenced = 0
        self.mr: list[str | None] = []
        self.text: list[str | None] = []
        self.system: list[str] = []
        self.file: list[str] = []
        self.line: list[int] = []
        self._facts = _Lists()
        self._originals = _Lists()
        self._references: list[list[str] | None] = []
        self._extra: dict[str, list[str | None]] = {}

    def __len__(self) -> int:
        return len(self.line)

    def add(
        self,
        source: Input,
        text: str | None,
        *,
        system: str,
        file: str,
        line: int,
        references: list[str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Append a row: an input, and a text from a line of a file."""
        rows = len(self)
        self.mr.append(source.mr)
        self._facts.append(source.triples)
        self._originals.append(source.original)
        self.text.append(text)
        self.system.append(system)
        self.file.append(file)
        self.line.append(line)
        self._references.append(references)
        values = {**source.extra, **(extra or {})}
        for name in values:
            if name not in self._extra:
                self._extra[name] = [None] * rows
        for name, column in self._extra.items():
            column.append(values.get(name))

    @property
    def readable(self) -> bool:
        """Whether any row has triples and a text."""
        return any(
            triples is not None and text is not None for triples, text in zip(self._facts, self.text, strict=True)
        )

    def derive(self, name: str, sources: Sequence[str], rule: Callable[..., str | None]) -> None:
        """Add a column computed from others of the input; nothing where one is missing, or the input has it itself."""
        if name not in self._extra and all(source in self._extra for source in sources):
            values = zip(*(self._extra[source] for source in sources), strict=True)
            self._extra[name] = [None if None in row else rule(*row) for row in values]

    def table(self) -> pa.Table:
        """The rows as Arrow: mr, triples, text, system, file, line (int32), references and original triples if there
        are any, then the other columns of the input, as numbers if all their values are numbers."""
        columns: dict[str, pa.Array] = {
            "mr": pa.array(self.mr, pa.string()),
            "triples": self._facts.array(),
            "text": pa.array(self.text, pa.string()),
            "system": pa.array(self.system, pa.string()),
            "file": pa.array(self.file, pa.string()),
            "line": pa.array(self.line, pa.int32()),
        }
        if any(references is not None for references in self._references):
            columns["references"] = pa.array(self._references, pa.list_(pa.string()))
        if self._originals:
            columns["original_triples"] = self._originals.array()
        for name, values in self._extra.items():
            columns[name] = typed(values)
        return pa.table(columns)


class _Lists:
    """A column of lists of triples that stores each distinct list once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Triple, ...], int] = {}
        self._rows: list[int | None] = []

    def __bool__(self) -> bool:
        return bool(self._known)

    def __iter__(self) -> Iterator[tuple[Triple, ...] | None]:
        known = list(self._known)
        return (None if number is None else known[number] for number in self._rows)

    def append(self, triples: Sequence[Triple] | None) -> None:
        self._rows.append(None if triples is None else self._known.setdefault(tuple(triples), len(self._known)))

    def array(self) -> pa.Array:
        offsets: list[int] = [0]
        flat: list[Triple] = []
        for triples in self._known:
            flat.extend(triples)
            offsets.append(len(flat))
        parts = [pa.array([triple[part] for triple in flat], pa.string()) for part in range(3)]
        struct = pa.StructArray.from_arrays(parts, names=["subject", "predicate", "object"])
        distinct = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct)
        return distinct.take(pa.array(self._rows, pa.int32())).cast(TRIPLES)


def typed(values: Sequence[str | None]) -> pa.Array:
    """A column of strings as int64 or float64 if every value is such a number (blank is null), otherwise as strings."""
    filled = [value.strip() for value in values if value is not None and value.strip()]
    conversions: list[tuple[re.Pattern[str], Any, pa.DataType]] = [
        (_INTEGER, int, pa.int64()),
        (_FLOAT, float, pa.float64()),
    ]
    for pattern, convert, kind in conversions:
        if filled and all(pattern.fullmatch(value) for value in filled):
            return pa.array([convert(value) if value and value.strip() else None for value in values], kind)
    return pa.array(values, pa.string())


def free_names(names: Sequence[str]) -> list[str]:
    """Unique names for columns that are passed through, different from the columns that a conversion writes."""
    taken: set[str] = set(OWN)
    free = []
    for name in names:
        chosen = f"source_{name}" if name in OWN else name
        while chosen in taken:
            chosen += "_2"
        taken.add(chosen)
        free.append(chosen)
    return free
