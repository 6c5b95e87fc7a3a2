"""The rows of a conversion: inputs paired with texts, an Arrow table of them, and the Parquet file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import InputError, OutputError, UsageError, count_of
from ..metric.facts import Triple
from ..storage.user_files import check_user_file, parquet_target, write_parquet
from . import ConvertOptions
from .files import Problems, parse_systems, read_lines, readable

_TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))
_COLUMNS = {
    "mr": pa.string(),
    "triples": _TRIPLES,
    "text": pa.string(),
    "system": pa.string(),
    "file": pa.string(),
    "line": pa.int32(),
    "references": pa.list_(pa.string()),
    "original_triples": _TRIPLES,
}
"""The columns that a conversion writes itself; the last two only where there are any."""
_ROW_GROUP = 100_000
# Numbers whose text is unchanged after conversion: 007 is a code, and 20 digits are an identifier that a float rounds.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(slots=True, eq=False)
class Text:
    """A text in the file of its input, and its line number. ``None``: the text cannot be read."""

    line: int
    text: str | None
    system: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Input:
    """An input of a file: as written, as triples (``None``: cannot be read), and its texts in the same file.

    ``references``: the texts that others of this input are compared with; ``None`` where there are none at all.
    """

    file: str
    line: int
    mr: str | None
    triples: list[Triple] | None
    texts: Sequence[Text] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    original: list[Triple] | None = None
    references: Sequence[Text] | None = None

    @property
    def key(self) -> object:
        """A value that is equal for two spellings of the same input."""
        return tuple(sorted(self.triples)) if self.triples else self.mr


class Rows:
    """A growing table. ``inputs``: how many there are; ``unreferenced``: the keys of those without references."""

    def __init__(self) -> None:
        self.inputs = 0
        self.unreferenced: set[object] = set()
        self._rows: list[dict[str, Any]] = []
        self._extra: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def systems(self) -> int:
        """The number of systems."""
        return len({row["system"] for row in self._rows})

    def add_own_texts(self, inputs: Iterable[Input], system: str) -> None:
        """A row for every text in the file of its input. ``system``: the system of texts that name none."""
        for one in inputs:
            for text in one.texts:
                self._add(one, text, text.system or system, one.file)

    def add_text_files(
        self, choices: Sequence[Sequence[Input]], where: str, options: ConvertOptions, problems: Problems
    ) -> None:
        """A row for every line of every text file, with the input of the same position.

        ``choices``: possible lists of inputs (all of them, or each distinct one once); the number of lines decides.

        Raises:
            InputError: a file has another number of lines than there are inputs.
        """
        for system in parse_systems(options.texts):
            lines = read_lines(system)
            inputs = next((choice for choice in choices if len(choice) == len(lines)), None)
            if inputs is None:
                counts = " or ".join(f"{n:,}" for n in dict.fromkeys(len(choice) for choice in choices))
                raise InputError(
                    f"{system.shown} has {count_of(len(lines), 'line')}, but {where} has {counts} inputs; "
                    "it must have one line for every input, a blank one if the system wrote nothing"
                )
            self.inputs = max(self.inputs, len(inputs))
            for number, (one, line) in enumerate(zip(inputs, lines, strict=True), 1):
                text: str | None = line.text.strip()
                if line.error is not None:
                    problems.add(system.shown, number, line.error, text)
                    text = readable(line.text.strip())
                self._add(one, Text(number, "" if text in options.empty else text), system.name, system.file)

    def _add(self, one: Input, text: Text, system: str, file: str) -> None:
        known = one.references
        references = None if known is None else [other.text for other in known if other.text and other is not text]
        own = (one.mr, one.triples, text.text, system, file, text.line, references, one.original)
        more = {**one.extra, **text.extra}
        self._extra.update(dict.fromkeys(more))
        self._rows.append({**more, **dict(zip(_COLUMNS, own, strict=True))})

    def derive(self, name: str, sources: Sequence[str], rule: Callable[..., str | None]) -> None:
        """Add a column computed from others of the input; nothing where one is missing, or the input has it itself."""
        if name in self._extra or not all(source in self._extra for source in sources):
            return
        self._extra[name] = None
        for row in self._rows:
            values = [row.get(source) for source in sources]
            row[name] = None if None in values else rule(*values)

    def write(self, out: Path) -> None:
        """Write the Parquet file, completely or not at all: the columns of a conversion, then the others of the input,
        as numbers if all their values are numbers.

        Raises:
            InputError: none of the rows has facts and a text that can be read.
            OutputError: it cannot be written; an earlier file of that name is unchanged.
        """
        if not any(row["triples"] is not None and row["text"] is not None for row in self._rows):
            raise InputError(
                f"not one of {count_of(len(self), 'line')} has facts and a text that can be read, so {out} was not "
                "written; check that the command suits the files"
            )
        columns = {name: pa.array([row[name] for row in self._rows], kind) for name, kind in _COLUMNS.items()}
        for name in ("references", "original_triples"):
            if columns[name].null_count == len(self):
                del columns[name]
        table = pa.table(columns | {name: _typed([row.get(name) for row in self._rows]) for name in self._extra})
        groups = [table.slice(start, _ROW_GROUP) for start in range(0, table.num_rows, _ROW_GROUP)]
        write_parquet(parquet_target(out, "--out"), groups)


def check_output(out: Path, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output that would overwrite something, before any work is done.

    Raises:
        UsageError: ``out`` is not the name of a Parquet file.
        OutputError: ``out`` is one of the inputs, exists and ``force`` is not set, or is a folder.
    """
    if out.suffix != ".parquet":
        raise UsageError(
            f"--out {out} is not the name of a Parquet file; write F.parquet, since `scorer run` reads those"
        )
    check_user_file(out, "--out", inputs=inputs, is_parquet=True)
    if out.exists() and not force:
        raise OutputError(f"--out {out} exists; choose another name, or replace it with --force")


def free_names(names: Sequence[str]) -> list[str]:
    """Unique names for columns that are passed through, different from the columns that a conversion writes."""
    taken = set(_COLUMNS)
    free = []
    for name in names:
        chosen = f"source_{name}" if name in _COLUMNS else name
        while chosen in taken:
            chosen += "_2"
        taken.add(chosen)
        free.append(chosen)
    return free


def _typed(values: Sequence[str | None]) -> pa.Array:
    """A column of strings as int64 or float64 if every value is such a number (blank is null), otherwise as strings."""
    filled = [value.strip() for value in values if value is not None and value.strip()]
    for pattern, convert, kind in ((_INTEGER, int, pa.int64()), (_FLOAT, float, pa.float64())):
        if filled and all(pattern.fullmatch(value) for value in filled):
            return pa.array([convert(value) if value and value.strip() else None for value in values], kind)
    return pa.array(values, pa.string())
